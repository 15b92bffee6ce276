#pragma once
// Explains that a Pod waits because a feature gate is off at the scheduler that is on at the API
// server. The API server keeps the amounts that the Pod's claim asks, and the scheduler refuses
// them (docs/dra.md). Agents see what the API server drops, and nothing of this.
//
// Nothing is guessed: the scheduler names the gate in the Pod's condition PodScheduled.

#include <string>

#include "base/json.h"
#include "controller/explainer.h"

namespace tranche::controller {

// The gate that the scheduler says is off, in the condition PodScheduled of the Pod; "": none.
// Source: Kubernetes' dynamic-resource-allocation/structured, "claim NAME, request NAME: has
// capacity requests, but the DRAConsumableCapacity feature is disabled".
std::string gate_off_at_scheduler(json::View pod);

Explainer gate_explainer();

}  // namespace tranche::controller
