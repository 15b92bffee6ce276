#pragma once
// A Log that keeps its lines for a test. Thread-safe.

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"

namespace tranche::test {

class LogRecorder {
 public:
  LogRecorder()
      : log_(LogLevel::kDebug, [this](LogLevel level, std::string_view message) {
          const std::scoped_lock lock(mutex_);
          lines_.emplace_back(level, message);
        }) {}

  const Log& log() const { return log_; }

  // Lines that contain `text`.
  int count(std::string_view text) const {
    const std::scoped_lock lock(mutex_);
    int found = 0;
    for (const auto& [level, line] : lines_) found += line.find(text) != std::string::npos ? 1 : 0;
    return found;
  }
  std::vector<std::pair<LogLevel, std::string>> lines() const {
    const std::scoped_lock lock(mutex_);
    return lines_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::pair<LogLevel, std::string>> lines_;
  Log log_;
};

}  // namespace tranche::test
