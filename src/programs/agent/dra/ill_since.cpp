#include "agent/dra/ill_since.h"

#include <algorithm>

namespace tranche::agent {

void IllSince::see(const gpu::HealthReport& health, TimePoint now) {
  std::erase_if(since_, [&](const auto& one) { return !health.contains(one.first); });
  for (const auto& [uuid, reason] : health) since_.try_emplace(uuid, now);
}

std::optional<IllSince::TimePoint> IllSince::due(TimePoint since) const {
  if (!evict_after_ || *evict_after_ > TimePoint::max() - since) return std::nullopt;
  return since + std::chrono::ceil<TimePoint::duration>(*evict_after_);
}

std::set<std::string> IllSince::evicting(TimePoint now) const {
  std::set<std::string> uuids;
  for (const auto& [uuid, since] : since_) {
    const auto at = due(since);
    if (at && *at <= now) uuids.insert(uuid);
  }
  return uuids;
}

std::optional<IllSince::TimePoint> IllSince::next(TimePoint now) const {
  std::optional<TimePoint> next;
  for (const auto& [uuid, since] : since_) {
    const auto at = due(since);
    if (at && *at > now) next = std::min(next.value_or(*at), *at);
  }
  return next;
}

}  // namespace tranche::agent
