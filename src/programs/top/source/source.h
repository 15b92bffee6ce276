#pragma once
// Where readings come from: an agent, the controller, this machine's driver, or a recording.

#include <chrono>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "top/view/reading.h"

namespace tranche::top {

class Source {
 public:
  virtual ~Source() = default;

  // The next reading. Called by one thread; may take as long as the source does, but returns soon
  // after `stop` is requested. kNotFound: a recording has ended, there will be no more.
  virtual Result<Reading> read(const std::stop_token& stop) = 0;
  // "agent http://localhost:9400".
  virtual std::string name() const = 0;
  // Of the last reading: what a user should know beside it. Empty: nothing.
  virtual std::string note() const { return {}; }
  // It waits itself until the next reading is due.
  virtual bool paces() const { return false; }
  // From any thread: no further reading until the hold ends.
  virtual void hold(bool /*held*/) {}
};

// A server that has not answered by then is tried again.
inline constexpr std::chrono::seconds kReadTime{10};

}  // namespace tranche::top
