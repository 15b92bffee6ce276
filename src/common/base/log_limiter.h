#pragma once
// Logs what somebody else can cause as often as they like (a tenant's messages, its processes)
// without letting them fill the log: the first text of a kind is logged, later ones are counted.
// Once a minute the last text is logged with the number of those before it.
//
// The caller bounds the number of kinds. Used by one thread.

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/log.h"

namespace tranche {

class LogLimiter {
 public:
  static constexpr std::chrono::seconds kEach{60};

  // Both outlive it.
  LogLimiter(const Clock& clock, const Log& log) : clock_(clock), log_(log) {}

  // Logs `text`, if nothing of its kind was logged in the last kEach; else counts it.
  void warn(std::string_view kind, std::string_view text);
  // Logs what was counted, of the kinds last logged kEach ago. Call it now and then.
  void tell();

 private:
  struct Kind {
    std::chrono::steady_clock::time_point told;
    std::uint64_t untold = 0;
    std::string last{};
  };

  const Clock& clock_;
  const Log& log_;
  std::map<std::string, Kind, std::less<>> kinds_;
};

}  // namespace tranche
