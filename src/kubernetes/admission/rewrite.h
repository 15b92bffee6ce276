#pragma once
// Turns nvidia.com/gpu: 0.5 of a Pod, or of a workload's Pod template, into what the stock
// scheduler can place: an object comes in, a JSON patch goes out. Pure, and safe on any JSON: the
// object may be hostile.
//
// Where nodes are in mode `dra`, each requesting container gets a claim of its own from a
// ResourceClaimTemplate whose name encodes the share; elsewhere one replica of a resource that
// device plugins advertise. nvidia.com/gpu is removed from limits and requests, with lists and
// mappings that this leaves empty, and kept in the annotation tranche.dev/gpu-fractions.
//
// Guarantees:
//   - Rewriting a rewritten object changes nothing. A manifest applied again over the rewritten
//     object gives the same object; a Pod or Job, which is immutable, also when the fleet has
//     changed since.
//   - Another fraction in a workload's template gives another ResourceClaimTemplate. A container
//     that no longer requests a fraction loses its claim (plan.h).
//   - Claims of the user are not touched.
//   - No container gets less than it requests, and more only by a larger replica, with a warning.
//
// A webhook should not be called for updates of a Pod's metadata: a refusal would help nobody,
// because the spec is immutable, and would block finalizers.

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
  // For an update: the old object. Without it a removed fraction is not detected.
  std::optional<json::View> before;
};

struct Rewritten {
  std::string patch;  // RFC 6902: a list; "[]" if nothing changes
  // Of the Pods' claims, also those of a Pod rewritten before; each once.
  std::vector<ClaimTemplate> templates;
  std::vector<std::string> warnings;  // for the user
};

// An object that is being deleted is left alone.
//     kUnsupported         another kind than pod_parts.h lists
//     kInvalidArgument     the user made a mistake
//     kFailedPrecondition  valid, but this cluster cannot give it
Result<Rewritten> rewrite(json::View object, const Fleet& fleet, const Options& options);

}  // namespace tranche::admission
