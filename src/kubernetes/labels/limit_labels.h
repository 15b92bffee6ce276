#pragma once
// Our own labels, which state how the limits of each offered resource are enforced
// (docs/limits.md). Without limits there are none, and all labels are NVIDIA's.

#include "labels/label_set.h"
#include "offer/offer.h"

namespace tranche::labels {

// tranche.dev/<resource>.limits: the enforcement; absent if it is off.
// tranche.dev/<resource>.limits-by: the memory enforcer (offer/memory_enforcer.h); the weakest if
// devices differ.
Labels limit_labels(const offer::Offer& offer);

}  // namespace tranche::labels
