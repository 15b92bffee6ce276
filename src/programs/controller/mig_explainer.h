#pragma once
// Explains that a Pod waits for GPUs because of MIG: the nodes have theirs in other instances than
// it asks for (mig/waiting.h). The scheduler's own Event says "Insufficient nvidia.com/gpu" alone.
//
// Nodes are listed only while such a Pod asks for GPUs.

#include "controller/explainer.h"

namespace tranche::controller {

Explainer mig_explainer();

}  // namespace tranche::controller
