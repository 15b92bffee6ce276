#pragma once
// The log. Levels go by audience: error: the operator must act; warn: a function is degraded; info:
// a change of state, said once; debug: for developers. A message ends with what to do. Lines go to
// stderr as "<UTC time> <LEVEL> <message>". Thread-safe. Wiring makes one Log and passes it by
// reference.
//
// A message may hold text that others chose, so control characters are written as \x1b. Line ends
// are not: a message may have several lines (a configuration). Text of tenants goes through
// printable() (base/printable.h) before it comes here.

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tranche {

enum class LogLevel { kDebug, kInfo, kWarn, kError };

// Accepts "debug", "info", "warn" and "error".
Result<LogLevel> parse_log_level(std::string_view text);

class Log {
 public:
  using Sink = std::function<void(LogLevel, std::string_view message)>;

  // Writes to stderr.
  explicit Log(LogLevel level = LogLevel::kInfo);
  // Hands every line of `level` and above to `sink` (tests, the demo), one call at a time.
  Log(LogLevel level, Sink sink);
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  void debug(std::string_view message) const { write(LogLevel::kDebug, message); }
  void info(std::string_view message) const { write(LogLevel::kInfo, message); }
  void warn(std::string_view message) const { write(LogLevel::kWarn, message); }
  void error(std::string_view message) const { write(LogLevel::kError, message); }
  void error(const Error& error) const { write(LogLevel::kError, error.message()); }
  void warn(const Error& error) const { write(LogLevel::kWarn, error.message()); }

  void write(LogLevel level, std::string_view message) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tranche
