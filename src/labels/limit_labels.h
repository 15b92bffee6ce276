#pragma once
// Labels of ours that say how the limits of each offered resource are kept (docs/limits.md). None
// where nothing has limits: then the labels are NVIDIA's alone.

#include "labels/label_set.h"
#include "offer/offer.h"

namespace tranche::labels {

// tranche.dev/<resource>.limits: off is left out; tranche.dev/<resource>.limits-by: what keeps
// its memory (offer/memory_enforcer.h), where its devices differ the weakest.
Labels limit_labels(const offer::Offer& offer);

}  // namespace tranche::labels
