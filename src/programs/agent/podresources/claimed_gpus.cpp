#include "agent/podresources/claimed_gpus.h"

#include <algorithm>

namespace tranche::agent {

std::vector<std::string> claimed_gpus(const holdings::Holdings& held,
                                      const cluster::ObjectKey& claim,
                                      const kubelet::AllocatedDevice& device) {
  const auto id = device.share_id.empty() ? device.device : device.device + '/' + device.share_id;
  std::vector<std::string> uuids;
  for (const auto& one : held) {
    if (one.wire != holdings::Wire::kClaim || one.device.empty()) continue;
    if (one.ns != claim.ns || one.claim != claim.name || one.id != id) continue;
    if (std::ranges::find(uuids, one.device) == uuids.end()) uuids.push_back(one.device);
  }
  return uuids;
}

}  // namespace tranche::agent
