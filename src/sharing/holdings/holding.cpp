#include "holdings/holding.h"

namespace tranche::holdings {

std::string pod_name(const Holding& holding) {
  return holding.pod.empty() ? std::string() : holding.ns + '/' + holding.pod;
}

bool at_odds(Use a, Use b) {
  if (a == Use::kWhole || b == Use::kWhole) return a != b;
  return a != b && a != Use::kShared && b != Use::kShared;
}

bool follows(Use held, Use offered) { return held == Use::kWhole && offered == Use::kTimeSliced; }

bool overlap(const Holding& a, const Holding& b) {
  if (a.device == b.device && !a.device.empty()) return true;
  // Nobody can use a removed MIG instance. One not created yet may become any of its GPU's.
  if (a.gpu.empty() || a.gpu != b.gpu) return false;
  const auto is_all = [](const Holding& one) { return one.device == one.gpu; };
  return is_all(a) || is_all(b) || a.device.empty() || b.device.empty();
}

bool excludes(const Holding& held, const Holding& wanted) {
  // Device plugin and claims never grant the same hardware, nor hardware in use without a grant.
  if (held.wire != wanted.wire) return overlap(held, wanted);
  if (held.wire != Wire::kDevicePlugin) return false;
  if (held.device != wanted.device) return overlap(held, wanted);
  const bool both_whole = held.use == Use::kWhole && wanted.use == Use::kWhole;
  if (!both_whole && !at_odds(held.use, wanted.use)) return false;
  // Kubelet gives an id again only when its last holder is gone, or to a container of the same Pod.
  const bool goes_along = held.id == wanted.id || follows(held.use, wanted.use);
  return held.resource != wanted.resource || !goes_along;
}

}  // namespace tranche::holdings
