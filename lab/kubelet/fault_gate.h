#pragma once
// Where a call of Register waits or fails because a test says so. Thread-safe.

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>

#include "base/result.h"
#include "lab/kubelet/kubelet.h"

namespace tranche::lab {

class FaultGate {
 public:
  void set(RegisterFault fault) {
    const std::scoped_lock lock(mutex_);
    fault_ = fault;
    changed_.notify_all();
  }
  // Closed, nobody waits and nobody passes.
  void set_closed(bool closed) {
    const std::scoped_lock lock(mutex_);
    closed_ = closed;
    changed_.notify_all();
  }

  // Waits while the fault is kHang and `cancelled` is false.
  Result<void> pass(const std::function<bool()>& cancelled) {
    std::unique_lock lock(mutex_);
    while (fault_ == RegisterFault::kHang && !closed_ && !cancelled())
      changed_.wait_for(lock, kLookAgain);
    if (closed_ || cancelled()) return fail(Code::kUnavailable, "context canceled");
    if (fault_ == RegisterFault::kError)
      return fail(Code::kUnavailable, "the stand-in was told to refuse registrations");
    return {};
  }

 private:
  // Cancellation comes without a signal.
  static constexpr auto kLookAgain = std::chrono::milliseconds(20);

  std::mutex mutex_;
  std::condition_variable changed_;
  RegisterFault fault_ = RegisterFault::kNone;
  bool closed_ = false;
};

}  // namespace tranche::lab
