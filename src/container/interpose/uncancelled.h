#pragma once
// Keeps our calls from being noticed by the calling program, apart from their result.
//
// A thread may be cancelled (pthread_cancel) in any system call that blocks, and in the driver's
// calls. Inside one of our locks the lock would never be released. The driver's functions are not
// POSIX cancellation points, so a program loses nothing if they are none here either.

#include <cstdint>

#include "interpose/keep_errno.h"
#include "interpose/lock.h"

namespace tranche::interpose {

// The calling thread cannot be cancelled meanwhile.
class Uncancelled {
 public:
  Uncancelled();
  Uncancelled(const Uncancelled&) = delete;
  Uncancelled& operator=(const Uncancelled&) = delete;
  ~Uncancelled();
  // Temporarily restores the program's own cancellation state.
  void pause();
  void go_on();

 private:
  KeepErrno errno_;
  int before_;
};

// Used inside a lock under which the driver is called.
class UncancelledGuard {
 public:
  explicit UncancelledGuard(Lock& lock) : guard_(lock) {}

 private:
  Uncancelled uncancelled_;
  Guard<Lock> guard_;
};

// Also blocks signals, whose handlers may leave by longjmp. Costs two system calls: for places
// where a thread waits, or asks another process.
class Undisturbed {
 public:
  Undisturbed();
  Undisturbed(const Undisturbed&) = delete;
  Undisturbed& operator=(const Undisturbed&) = delete;
  ~Undisturbed();

 private:
  Uncancelled uncancelled_;
  std::uint64_t before_;  // in the kernel's format
};

}  // namespace tranche::interpose
