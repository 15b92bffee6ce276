#pragma once
// Finds outdated claims for shares. A claim's spec is immutable and has the alternatives of its
// creation time, so a waiting claim could never use a GPU model that joined later. Pure.

#include "admission/claim_template.h"
#include "base/json.h"

namespace tranche::admission {

// Whether the template names something (a model, an amount of it) that the ResourceClaim does not.
// What only the claim names does no harm: a removed model may come back. False if the claim cannot
// be read, or is not for a share.
bool lacks_what_is_wanted(json::View claim, const ClaimTemplate& wanted);

// Whether nobody uses the claim yet, so that it can be deleted and created anew from its template:
// it has our label, a Pod is its only owner, and it is neither allocated nor reserved, nor held by
// a finalizer (the scheduler sets one before it allocates), nor being deleted.
bool is_untouched(json::View claim);

}  // namespace tranche::admission
