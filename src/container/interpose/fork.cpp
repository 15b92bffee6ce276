#include "interpose/fork.h"

#include <sched.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <new>

// Exists in every supported glibc; pthread_atfork is in a library that a program may not have.
extern "C" int __register_atfork(void (*prepare)(), void (*parent)(), void (*child)(), void* dso);
extern "C" void* __dso_handle;

namespace tranche::interpose {
namespace {

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

// The page's content.
constexpr std::uint32_t kEmpty = 0;  // another process wrote it
constexpr std::uint32_t kForgetting = 1;
constexpr std::uint32_t kOurs = 2;
using Mark = std::atomic<std::uint32_t>;

std::atomic<Mark*> page;  // nullptr: nothing is watched yet, or the kernel is older

// In the child of fork(), before any of its own code.
void begin_anew_after_fork() {
  if (page.load(std::memory_order_relaxed) == nullptr) {
    begin_anew();
  } else {
    begin_anew_if_forked();
  }
}

Mark* make_page() {
  constexpr std::size_t kPage = 4096;
  void* memory = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  if (madvise(memory, kPage, MADV_WIPEONFORK) == 0) return new (memory) Mark(kOurs);
  munmap(memory, kPage);
  return nullptr;
}

}  // namespace

void watch_for_forks() {
  static std::atomic<bool> is_watching;
  if (is_watching.exchange(true)) return;
  page.store(make_page(), std::memory_order_release);
  __register_atfork(nullptr, nullptr, begin_anew_after_fork, static_cast<void*>(&__dso_handle));
}

void begin_anew_if_forked() {
  Mark* mark = page.load(std::memory_order_acquire);
  if (mark == nullptr || mark->load(std::memory_order_acquire) == kOurs) return;
  std::uint32_t seen = kEmpty;
  if (mark->compare_exchange_strong(seen, kForgetting)) {
    begin_anew();
    mark->store(kOurs, std::memory_order_release);
  }
  // The child may have threads already.
  while (mark->load(std::memory_order_acquire) != kOurs) sched_yield();
}

}  // namespace tranche::interpose
