#pragma once
// Ctrl-C as a value: SIGINT, SIGTERM and SIGHUP wait in a descriptor instead of ending the process,
// so that whatever the demo started and wrote is always cleaned up. Make it before any thread runs
// (threads inherit the mask). SIGPIPE is ignored: a reader that left must not stop the clean-up.

#include <chrono>

#include "base/result.h"

namespace tranche::demo {

class Interrupt {
 public:
  static Result<Interrupt> open();
  Interrupt(Interrupt&& other) noexcept;
  Interrupt& operator=(Interrupt&&) = delete;
  ~Interrupt();

  // The signal that came, or 0. Once one came this stays.
  int signal();
  // Waits; true as soon as a signal came.
  bool wait(std::chrono::milliseconds time);
  // Waits until `descriptor` can be read or is at its end; false when a signal came first.
  bool wait_readable(int descriptor);

 private:
  explicit Interrupt(int fd) : fd_(fd) {}
  int fd_ = -1;
  int signal_ = 0;
};

}  // namespace tranche::demo
