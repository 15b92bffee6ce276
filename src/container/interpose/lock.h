#pragma once
// A mutex of one word, of this process alone: no library's, for the C library's own moved between
// versions. A thread that ends inside keeps it; only its own process suffers. Reset in a forked
// child (fork.cpp), which may have been copied while another thread was inside.

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "interpose/keep_errno.h"
#include "interpose/system.h"

namespace tranche::interpose {

class Lock {
 public:
  constexpr Lock() = default;
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  void lock() {
    std::uint32_t free = 0;
    if (word_.compare_exchange_strong(free, 1, std::memory_order_acquire)) return;
    const KeepErrno keep_errno;
    while (word_.exchange(2, std::memory_order_acquire) != 0) {
      syscall(SYS_futex, &word_, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 2, nullptr, nullptr, 0);
    }
  }
  bool try_lock() {
    std::uint32_t free = 0;
    return word_.compare_exchange_strong(free, 1, std::memory_order_acquire);
  }
  void unlock() {
    if (word_.exchange(0, std::memory_order_release) == 2) {
      syscall(SYS_futex, &word_, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, nullptr, nullptr, 0);
    }
  }
  // In a child that has no other thread.
  void reset() { word_.store(0, std::memory_order_relaxed); }

 private:
  std::atomic<std::uint32_t> word_{0};
};

// For what is held for some instructions and seldom waited for. It is left by a plain store: a lock
// that wakes those who sleep must look for them in one step, which costs as much as the taking. Who
// waits looks again after naps, so that a holder of lower priority gets to run.
class SpinLock {
 public:
  constexpr SpinLock() = default;
  SpinLock(const SpinLock&) = delete;
  SpinLock& operator=(const SpinLock&) = delete;

  void lock() {
    if (!is_held_.exchange(true, std::memory_order_acquire)) return;
    wait();
  }
  void unlock() { is_held_.store(false, std::memory_order_release); }
  // In a child that has no other thread.
  void reset() { is_held_.store(false, std::memory_order_relaxed); }

 private:
  static constexpr unsigned kLooks = 200;  // without a nap
  static constexpr std::uint64_t kNap = 20'000;

  [[gnu::noinline, gnu::cold]] void wait() {
    for (unsigned look = 1;; ++look) {
      const bool may_be_free = !is_held_.load(std::memory_order_relaxed);
      if (may_be_free && !is_held_.exchange(true, std::memory_order_acquire)) return;
      if (look % kLooks == 0) nap_ns(kNap);
    }
  }

  std::atomic<bool> is_held_{false};
};

template <class Kind>
class Guard {
 public:
  explicit Guard(Kind& lock) : lock_(lock) { lock_.lock(); }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  ~Guard() { lock_.unlock(); }

 private:
  Kind& lock_;
};

}  // namespace tranche::interpose
