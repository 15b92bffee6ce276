#pragma once
// A clock that only a test advances.

#include <chrono>
#include <mutex>

#include "base/clock.h"

namespace tranche::test {

class FakeClock final : public Clock {
 public:
  std::chrono::steady_clock::time_point now() const override {
    const std::scoped_lock lock(mutex_);
    return std::chrono::steady_clock::time_point(elapsed_);
  }
  std::chrono::system_clock::time_point wall_now() const override {
    const std::scoped_lock lock(mutex_);
    return start_ + elapsed_;
  }
  void advance(std::chrono::nanoseconds by) {
    const std::scoped_lock lock(mutex_);
    elapsed_ += by;
  }

 private:
  mutable std::mutex mutex_;
  std::chrono::nanoseconds elapsed_{0};
  // 2026-01-01T00:00:00Z
  std::chrono::system_clock::time_point start_{std::chrono::seconds(1'767'225'600)};
};

}  // namespace tranche::test
