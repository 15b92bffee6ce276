#pragma once
// The pool that this node publishes now. Pure.
//
// In mode `dra`: every device, but for those that containers of the device plugin still hold. In
// mode `device-plugin`: those alone that claims of earlier hold, with a taint; a device that is
// allocated must stay listed, for the scheduler counts what is listed.
//
// The places of a GPU that is not cut for claims any more are listed as long as claims hold them.

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

// On a device that is not healthy. The log and the Node's condition TrancheGpuHealthy say why.
inline constexpr const char* kUnhealthyTaint = "tranche.dev/unhealthy";
// On a device that claims of earlier hold on a node in mode `device-plugin`.
inline constexpr const char* kModeTaint = cluster::kModeLabel;
// On a device that leaves service for a change of the MIG layout.
inline constexpr const char* kMigChangeTaint = "tranche.dev/mig-change";

// On a GPU that MPS is to serve and does not serve for claims now. Nobody is evicted for it.
inline constexpr const char* kMpsTaint = "tranche.dev/mps";

struct PoolWish {
  std::vector<dra::PreparedClaim> prepared;  // the claims of this node
  dra::Dropped dropped;                      // what this API server does not keep
  // Unhealthy devices from which Pods are evicted, by UUID.
  std::set<std::string> evicting;
};

// `state` has a machine.
dra::Pool make_claim_pool(const State& state, const PoolWish& wish);

// The health of every device that claims may hold, listed or not.
std::vector<dra::DeviceHealth> health_of(const State& state,
                                         const std::vector<dra::PreparedClaim>& prepared,
                                         const std::string& pool);

// Whether both have the same devices, in whatever order.
bool differ_in_order_alone(const dra::Pool& a, const dra::Pool& b);

}  // namespace tranche::agent
