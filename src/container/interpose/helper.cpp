#include "interpose/helper.h"

#include <dlfcn.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

#include "interpose/driver.h"
#include "interpose/elf_symbols.h"
#include "interpose/system.h"

namespace tranche::interpose {
namespace {

constexpr std::uint64_t kTick = 500'000;        // ns, while there is work
constexpr std::uint64_t kRest = 1'000'000'000;  // ns

std::atomic<std::uint32_t> called;  // futex
std::atomic<bool> is_started;
HelperTasks given;  // written before the thread begins

void rest() {
  const timespec time{static_cast<time_t>(kRest / 1'000'000'000), 0};
  syscall(SYS_futex, &called, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 0, &time, nullptr, 0);
}

void* help(void*) {
  int mode = kCaptureRelaxed;  // what is asked here must not break a capture of the program
  driver.cuThreadExchangeStreamCaptureMode(&mode);
  std::uint64_t looked = now_ns();
  for (;;) {
    if (!given.has_work()) {
      called.store(0);
      if (!given.has_work()) rest();  // work that came in between has woken it
    } else {
      nap_ns(kTick);
    }
    given.look_after_work();
    if (now_ns() - looked < kRest) continue;
    looked = now_ns();
    given.each_second();
  }
  return nullptr;
}

// As the program's own calls find it, because a sanitizer wants to know every thread. Otherwise the
// C library's, which the program may have loaded itself.
void* of_program(const char* symbol) {
  void* found = loader().dlsym(RTLD_DEFAULT, symbol);
  return found != nullptr ? found : of_libc(symbol);
}

using Create = int (*)(unsigned long*, const void*, void* (*)(void*), void*);
using Detach = int (*)(unsigned long);

// The thread calls the driver. Programs with many threads give them small stacks, some by default
// for all (RLIMIT_STACK, pthread_setattr_default_np).
class Attributes {
 public:
  Attributes() {
    const auto init = reinterpret_cast<int (*)(void*)>(of_program("pthread_attr_init"));
    const auto get =
        reinterpret_cast<int (*)(const void*, size_t*)>(of_program("pthread_attr_getstacksize"));
    const auto set =
        reinterpret_cast<int (*)(void*, size_t)>(of_program("pthread_attr_setstacksize"));
    size_t size = 0;
    if (init == nullptr || get == nullptr || set == nullptr || init(&attributes_) != 0) return;
    is_needed_ = get(&attributes_, &size) == 0 && size < kLeast && set(&attributes_, kLeast) == 0;
  }
  // nullptr: the defaults will do.
  const void* get() const { return is_needed_ ? &attributes_ : nullptr; }

 private:
  static constexpr size_t kLeast = size_t{1} << 20U;
  pthread_attr_t attributes_;  // of the C library's, which holds nothing else
  bool is_needed_ = false;
};

}  // namespace

void start_helper(const HelperTasks& tasks) {
  if (is_started.exchange(true)) return;
  given = tasks;
  const auto create = reinterpret_cast<Create>(of_program("pthread_create"));
  const auto detach = reinterpret_cast<Detach>(of_program("pthread_detach"));
  if (create == nullptr || detach == nullptr) return;
  // Only the program's threads handle signals.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  unsigned long id = 0;
  const Attributes attributes;
  int error = create(&id, attributes.get(), help, nullptr);
  if (error != 0 && attributes.get() != nullptr) error = create(&id, nullptr, help, nullptr);
  if (error == 0) detach(id);
  sigprocmask(SIG_SETMASK, &before, nullptr);
}

void call_helper() {
  if (called.load(std::memory_order_relaxed) != 0 || called.exchange(1) != 0) return;
  syscall(SYS_futex, &called, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, nullptr, nullptr, 0);
}

void forget_helper() {
  is_started.store(false);
  called.store(0);
}

}  // namespace tranche::interpose
