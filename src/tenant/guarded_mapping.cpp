#include "tenant/guarded_mapping.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <mutex>
#include <utility>

namespace tranche::tenant {
namespace {

// A region of memory that the handler looks at. Regions are never freed, because a fault may come
// at any time.
struct Region {
  std::atomic<bool> taken;
  std::atomic<std::uintptr_t> begin;
  std::atomic<std::uintptr_t> end;  // 0: nothing is mapped there
  std::atomic<bool> torn;
};
constinit std::array<Region, GuardedMapping::kMost> regions{};
struct sigaction before;
std::uintptr_t page_size = 4096;

// Async-signal-safe: uses only atomics and system calls.
void on_bus_error(int signal, siginfo_t* info, void*) {
  const auto at = reinterpret_cast<std::uintptr_t>(info->si_addr);
  for (Region& region : regions) {
    if (at < region.begin || at >= region.end) continue;
    const int error = errno;
    region.torn = true;
    void* page = reinterpret_cast<void*>(at & ~(page_size - 1));
    const bool replaced = mmap(page, page_size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
                               -1, 0) != MAP_FAILED;
    errno = error;
    if (replaced) return;
    break;
  }
  sigaction(signal, &before, nullptr);  // the fault comes again, to the earlier handler
}

void install() {
  static std::once_flag once;
  std::call_once(once, [] {
    page_size = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    struct sigaction action{};
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, &before);
  });
}

}  // namespace

Result<GuardedMapping> GuardedMapping::map(int fd, std::size_t size) {
  install();
  std::size_t place = 0;
  while (place < kMost && regions[place].taken.exchange(true)) ++place;
  if (place == kMost) return fail(Code::kIo, "no room for another mapped file");
  GuardedMapping mapping(place);
  void* memory = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return std::unexpected(errno_error(errno, "mmap of a tenant's usage"));
  Region& region = regions[place];
  region.torn = false;
  region.begin = reinterpret_cast<std::uintptr_t>(memory);
  region.end = region.begin + size;
  return mapping;
}

GuardedMapping::GuardedMapping(GuardedMapping&& other) noexcept
    : place_(std::exchange(other.place_, kMost)) {}

GuardedMapping& GuardedMapping::operator=(GuardedMapping&& other) noexcept {
  std::swap(place_, other.place_);
  return *this;
}

GuardedMapping::~GuardedMapping() {
  if (place_ == kMost) return;
  Region& region = regions[place_];
  const auto begin = region.begin.load();
  const auto end = region.end.exchange(0);
  if (end != 0) munmap(reinterpret_cast<void*>(begin), end - begin);
  region.taken = false;
}

const void* GuardedMapping::data() const {
  return reinterpret_cast<const void*>(regions[place_].begin.load(std::memory_order_relaxed));
}

bool GuardedMapping::is_torn() const {
  return regions[place_].torn.load(std::memory_order_relaxed);
}

}  // namespace tranche::tenant
