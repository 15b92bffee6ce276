#pragma once
// Makes the status of the node's GPUNode from what the agent knows. Pure.
//
// A text may come from a tenant (names of Pods and claims) or from the driver, so each is made
// printable and bounded.

#include <string>
#include <vector>

#include "agent/loop/state.h"
#include "cluster/formats/gpu_node.h"
#include "holdings/holdings.h"
#include "offer/offer.h"

namespace tranche::agent {

struct KnownNode {
  const State& state;  // state.machine is set
  const offer::Offer& offer;
  const holdings::Holdings& held;
  // The DRA driver under which the devices of a node in mode `dra` are listed.
  const std::string& driver_name;
};

// It may be too long: see fit() (fit.h).
cluster::GpuNodeStatus make_status(const KnownNode& known);

// Why something is not as configured, in a stable order (node_reasons.cpp).
std::vector<cluster::GpuNodeReason> reasons_of(const State& state, const offer::Offer& offer);

inline constexpr std::size_t kLongestName = 253;  // of a Kubernetes object
inline constexpr std::size_t kLongestMessage = 512;
std::string clean(std::string_view text, std::size_t most = kLongestName);

}  // namespace tranche::agent
