#pragma once
// The pool that this node publishes now. Pure.
//
// In mode `dra`: every device except those that containers of the device plugin still hold. In mode
// `device-plugin`: only devices that earlier claims hold, with a taint, because the scheduler
// counts only listed devices. Likewise the places of a GPU that is no longer cut for claims stay
// listed while claims hold them.

#include <set>
#include <string>
#include <vector>

#include "agent/loop/state.h"
#include "cluster/formats/node_mode.h"
#include "dra/health_board.h"
#include "dra/pool.h"
#include "dra/prepared.h"
#include "dra/publication.h"

namespace tranche::agent {

// On an unhealthy device. The log and the Node's condition TrancheGpuHealthy say why.
inline constexpr const char* kUnhealthyTaint = "tranche.dev/unhealthy";
// On a device that earlier claims hold on a node in mode `device-plugin`.
inline constexpr const char* kModeTaint = cluster::kModeLabel;
// On a device that leaves service for a change of the MIG layout, and on a GPU that is cut for its
// present claims alone.
inline constexpr const char* kMigChangeTaint = "tranche.dev/mig-change";

// On a GPU that MPS should serve but does not serve for claims now. Evicts nobody.
inline constexpr const char* kMpsTaint = "tranche.dev/mps";

struct PoolWish {
  std::vector<dra::PreparedClaim> prepared;  // the claims of this node
  dra::Dropped dropped;                      // what this API server drops
  // Unhealthy devices from which Pods are evicted, by UUID.
  std::set<std::string> evicting;
  // What claims of this pool have. Others' devices, of the driver's former name or the pool's, are
  // not listed: the scheduler does not count them here. Empty: all claims are of this pool.
  std::string driver = {};
  std::string pool = {};
};

// `state` has a machine.
dra::Pool make_claim_pool(const State& state, const PoolWish& wish);

// The health of every device that claims may hold, listed or not.
std::vector<dra::DeviceHealth> health_of(const State& state,
                                         const std::vector<dra::PreparedClaim>& prepared,
                                         const std::string& pool);

// Whether both have the same devices in a different order.
bool differ_in_order_alone(const dra::Pool& a, const dra::Pool& b);

}  // namespace tranche::agent
