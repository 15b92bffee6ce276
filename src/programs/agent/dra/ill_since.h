#pragma once
// Since when devices are unhealthy, and from which of them Pods are evicted by now. Pure but for
// its memory; used by the agent's loop.

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "gpu/health.h"

namespace tranche::agent {

class IllSince {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  // nullopt: nobody is evicted.
  explicit IllSince(std::optional<std::chrono::nanoseconds> evict_after)
      : evict_after_(evict_after) {}

  // Sets what is unhealthy now. A device that recovers in between starts again.
  void see(const gpu::HealthReport& health, TimePoint now);
  std::set<std::string> evicting(TimePoint now) const;
  // When the next one becomes due; nullopt: none does by time alone.
  std::optional<TimePoint> next(TimePoint now) const;

 private:
  std::optional<TimePoint> due(TimePoint since) const;

  const std::optional<std::chrono::nanoseconds> evict_after_;
  std::map<std::string, TimePoint> since_;  // by UUID
};

}  // namespace tranche::agent
