#include "controller/web/rate_limit.h"

#include <algorithm>

namespace tranche::controller {

bool RateLimit::allows(const std::string& who, Time now) {
  const std::scoped_lock lock(mutex_);
  auto found = buckets_.find(who);
  if (found == buckets_.end()) {
    make_room();
    found = buckets_.emplace(who, Bucket{.left = burst_, .at = now}).first;
  }
  auto& [left, at] = found->second;
  const std::chrono::duration<double> passed = now - at;
  left = std::min(burst_, left + std::max(0.0, passed.count()) * per_second_);
  at = now;
  if (left < 1) return false;
  left -= 1;
  return true;
}

void RateLimit::make_room() {
  if (buckets_.size() < kMost) return;
  buckets_.erase(
      std::ranges::min_element(buckets_, {}, [](const auto& entry) { return entry.second.at; }));
}

}  // namespace tranche::controller
