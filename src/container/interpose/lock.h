#pragma once
// A one-word mutex, private to this process. Not a library's, because the C library's own moved
// between versions. A thread that ends while holding it never releases it; only its own process
// suffers. Reset in a forked child (fork.cpp), which may have been copied while another thread held
// it.

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
  // In a child without other threads.
  void reset() { word_.store(0, std::memory_order_relaxed); }

 private:
  std::atomic<std::uint32_t> word_{0};
};

// For locks held for a few instructions and rarely contended. It is released by a plain store: a
// lock that wakes sleepers must check for them atomically, which costs as much as acquiring it.
// Waiters check again after naps, so that a holder of lower priority gets to run.
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
  // In a child without other threads.
  void reset() { is_held_.store(false, std::memory_order_relaxed); }

 private:
  static constexpr unsigned kLooks = 200;  // checks before the first nap
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
