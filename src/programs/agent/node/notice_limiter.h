#pragma once
// Limits the Events about what others can cause as often as they like: the first of a kind is
// recorded at once, those within the next ten minutes as one with their number. Used by one thread.

#include <fmt/format.h>

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "agent/node/node_reporter.h"

namespace tranche::agent {

class NoticeLimiter {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Tell = std::function<void(const NodeNotice&)>;
  static constexpr std::chrono::minutes kEach{10};

  explicit NoticeLimiter(Tell tell) : tell_(std::move(tell)) {}

  // The caller bounds the number of kinds.
  void tell(const std::string& kind, const NodeNotice& notice, TimePoint now) {
    auto [entry, fresh] = kinds_.try_emplace(kind, Kind{.told = now});
    if (fresh) return tell_(notice);
    ++entry->second.pending;
    entry->second.last = notice;
  }
  // Records what was counted. Call it no later than next().
  void tick(TimePoint now) {
    for (auto it = kinds_.begin(); it != kinds_.end();) {
      const auto here = it++;
      auto& kind = here->second;
      if (now - kind.told < kEach) continue;
      if (kind.pending == 0) {
        kinds_.erase(here);
        continue;
      }
      kind.last.note =
          fmt::format("{} ({} times in {} minutes)", kind.last.note, kind.pending,
                      std::chrono::floor<std::chrono::minutes>(now - kind.told).count());
      tell_(kind.last);
      kind = {.told = now};
    }
  }
  std::optional<TimePoint> next() const {
    std::optional<TimePoint> soonest;
    for (const auto& [name, kind] : kinds_) {
      const auto due = kind.told + kEach;
      if (!soonest || due < *soonest) soonest = due;
    }
    return soonest;
  }

 private:
  struct Kind {
    TimePoint told;
    int pending = 0;
    NodeNotice last{};
  };

  Tell tell_;
  std::map<std::string, Kind> kinds_;
};

}  // namespace tranche::agent
