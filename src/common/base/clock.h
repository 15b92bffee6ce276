#pragma once
// Time as a parameter. Code that waits or stamps takes a Clock; tests pass
// tests/support/fake_clock.h.

#include <chrono>

namespace tranche {

class Clock {
 public:
  virtual ~Clock() = default;
  // For intervals and deadlines.
  virtual std::chrono::steady_clock::time_point now() const = 0;
  // For stamps that people or other machines read.
  virtual std::chrono::system_clock::time_point wall_now() const = 0;
};

class SystemClock final : public Clock {
 public:
  std::chrono::steady_clock::time_point now() const override {
    return std::chrono::steady_clock::now();
  }
  std::chrono::system_clock::time_point wall_now() const override {
    return std::chrono::system_clock::now();
  }
};

}  // namespace tranche
