#pragma once
// Explains that a Pod waits because a feature gate is on at the API server but off at the
// scheduler. The API server keeps the amounts that the Pod's claim requests, and the scheduler
// refuses them (docs/dra.md). Agents see what the API server drops, but not this.
//
// The gate's name comes from the Pod's condition PodScheduled.

#include <string>

#include "base/json.h"
#include "controller/explainer.h"

namespace tranche::controller {

// The gate that is off by the Pod's condition PodScheduled; "": none. Source: Kubernetes'
// dynamic-resource-allocation/structured, "claim NAME, request NAME: has capacity requests, but the
// DRAConsumableCapacity feature is disabled".
std::string gate_off_at_scheduler(json::View pod);

Explainer gate_explainer();

}  // namespace tranche::controller
