#pragma once
// Turns nvidia.com/gpu: 0.5 of a Pod, or of a workload's Pod template, into what the stock
// scheduler can place. This is the whole of the admission webhook but for the wire: an object comes
// in, a JSON patch goes out. Pure, and safe on any JSON: the object may be hostile.
//
// Where nodes are in mode `dra`, each container that asks gets a claim of its own
// (spec.resourceClaims, resources.claims), made from a ResourceClaimTemplate whose name says the
// share; elsewhere one replica of a resource that device plugins advertise. nvidia.com/gpu is taken
// out of limits and requests; lists and mappings that this leaves empty are taken out with it. What
// stood there is kept in the annotation tranche.dev/gpu-fractions.
//
// What a caller may rely on:
//   - Rewritten once more, an object stays as it is. Applied once more over the rewritten object, a
//     manifest gives the rewritten object again; a Pod or Job, which cannot change, also when the
//     fleet has changed since.
//   - Another fraction in a workload's template is another ResourceClaimTemplate there. A container
//     that asks a fraction no longer loses its claim (plan.h says how that is seen).
//   - Claims of the user are not touched.
//   - No container gets less than it asks, and more only by a larger replica, with a warning.
//
// A refusal is for a user who creates or changes something. A webhook should not be asked about
// updates of a Pod's metadata: the spec of a Pod cannot change, and finalizers must.

#include <optional>
#include <string>
#include <vector>

#include "admission/claim_template.h"
#include "admission/fleet.h"
#include "base/json.h"
#include "base/result.h"

namespace tranche::admission {

struct Options {
  ClaimOptions claim;
  // Of an update: the object as it was. Without it nobody sees that a fraction was taken out.
  std::optional<json::View> before;
};

struct Rewritten {
  std::string patch;  // RFC 6902: a list; "[]" where nothing is to change
  // That the Pods' claims are made from, also those of a Pod rewritten before; each once.
  std::vector<ClaimTemplate> templates;
  std::vector<std::string> warnings;  // for the answer to the user
};

// An object that is being deleted is left alone.
//   kUnsupported         another kind than pod_parts.h lists
//   kInvalidArgument     what the user wrote is wrong
//   kFailedPrecondition  it is right, and this cluster cannot give it
Result<Rewritten> rewrite(json::View object, const Fleet& fleet, const Options& options);

}  // namespace tranche::admission
