#pragma once
// What keeps a call of ours from being seen by the program that made it, beside its answer.
//
// A thread may be cancelled (pthread_cancel) in any system call that waits, and in what the driver
// does. Inside one of our locks that would leave the lock to nobody. Calls of the driver are none
// of POSIX's cancellation points, so a program loses nothing when they are none here either.

#include <cstdint>

#include "interpose/keep_errno.h"
#include "interpose/lock.h"

namespace tranche::interpose {

// The calling thread is not cancelled meanwhile.
class Uncancelled {
 public:
  Uncancelled();
  Uncancelled(const Uncancelled&) = delete;
  Uncancelled& operator=(const Uncancelled&) = delete;
  ~Uncancelled();
  // The thread is as the program left it for now.
  void pause();
  void go_on();

 private:
  KeepErrno errno_;
  int before_;
};

// Inside a lock under which the driver is called.
class UncancelledGuard {
 public:
  explicit UncancelledGuard(Lock& lock) : guard_(lock) {}

 private:
  Uncancelled uncancelled_;
  Guard<Lock> guard_;
};

// Nor interrupted by a signal, whose handler may leave by longjmp. Two system calls: for where a
// thread waits, or asks somebody else.
class Undisturbed {
 public:
  Undisturbed();
  Undisturbed(const Undisturbed&) = delete;
  Undisturbed& operator=(const Undisturbed&) = delete;
  ~Undisturbed();

 private:
  Uncancelled uncancelled_;
  std::uint64_t before_;  // as the kernel has it
};

}  // namespace tranche::interpose
