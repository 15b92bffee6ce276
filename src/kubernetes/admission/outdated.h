#pragma once
// A claim for a share keeps the alternatives of the day on which it was made: its spec cannot
// change. One that waits while a model of GPU joins the cluster would never get it. Pure.

#include "admission/claim_template.h"
#include "base/json.h"

namespace tranche::admission {

// Whether the template names something (a model, an amount of it) that the ResourceClaim does not.
// What the claim names beyond it does no harm: a model that has gone may come back. False where the
// claim cannot be read, or is none of a share.
bool lacks_what_is_wanted(json::View claim, const ClaimTemplate& wanted);

// Whether the claim is nobody's yet, so that it can be deleted and Kubernetes makes it anew from
// its template: it bears our label, a Pod is its only owner, and it is neither allocated nor
// reserved, nor held by a finalizer (the scheduler sets one before it allocates), nor being
// deleted.
bool is_untouched(json::View claim);

}  // namespace tranche::admission
