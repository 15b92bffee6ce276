#pragma once
// Logs events that others can trigger at will (a tenant's
// messages, its processes) without letting them flood the log. The
// first text of a kind is logged, later ones are counted. Once a
// minute the last text is logged with the number of those before
// it.

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

  // Both must outlive it.
  LogLimiter(const Clock& clock, const Log& log) : clock_(clock), log_(log) {}

  // Logs `text` unless its kind was logged within the last kEach; otherwise counts it.
  void warn(std::string_view kind, std::string_view text);
  // Logs the counted texts of kinds last logged kEach ago. Call it periodically.
  void tell();

 private:
  struct Kind {
    std::chrono::steady_clock::time_point told;
    std::uint64_t suppressed = 0;
    std::string last{};
  };

  const Clock& clock_;
  const Log& log_;
  std::map<std::string, Kind, std::less<>> kinds_;
};

}  // namespace tranche
