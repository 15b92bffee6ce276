#pragma once
// Explains that a Pod waits for GPUs because the nodes have other MIG instances than it requests
// (mig/waiting.h). The scheduler's own Event says only "Insufficient nvidia.com/gpu".
//
// Nodes are listed only while such a Pod requests GPUs.

#include "controller/explainer.h"

namespace tranche::controller {

Explainer mig_explainer();

}  // namespace tranche::controller
