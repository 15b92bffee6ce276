#pragma once
// Detects an unplanned MIG partitioning of a node's GPUs: whole GPUs and MIG instances next to each
// other, or MIG on GPUs that are advertised whole. They are served anyway. It is reported because
// Pods then find fewer devices of a kind than people expect. Pure.
//
// Strategy single refuses such a node by itself (offer/make_offer.h).

#include <string>
#include <string_view>

#include "config/config.h"
#include "gpu/machine.h"

namespace tranche::offer {

// Whether the Node's label nvidia.com/mig.config names a layout, which may have GPUs of both kinds.
// NVIDIA's operator writes "all-disabled" on Nodes that have no label, so that value is not a plan.
bool names_a_layout(std::string_view mig_config);

// Text for people, with what to do; empty: nothing is unplanned. `planned`: names_a_layout(). GPUs
// without MIG support do not count as a mixture: they can only be advertised whole.
std::string unplanned_mig(const gpu::Machine& machine, config::MigStrategy strategy, bool planned);

}  // namespace tranche::offer
