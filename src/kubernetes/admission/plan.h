#pragma once
// Decides what each container of a Pod gets in place of its fraction: a claim of its own, a request
// of a claim with which containers share a GPU, or one replica. rewrite.cpp makes the patch. Pure.
//
// A container is in one of these states, determined from the Pod's spec and then from the record:
//
//     asks      requests a fraction, or one GPU with annotations (share.h). Planned anew; a claim
//               of ours keeps its name. The record does not count.
//     settled   requests nothing, and its record is true: the spec has the claim or the replica. It
//               stays as it is, so that a second rewrite changes nothing.
//     left      all others. Our entries (past.h) are removed.
//
// If a user removes the fraction from a manifest and applies it, the object looks settled, because
// the first rewrite already removed the field that `kubectl apply` would. So kubectl's last-applied
// annotations before and after are compared: the old manifest requested it, the new one does not.
// The new one alone would not do: after `kubectl rollout undo` it is another revision's. A
// server-side apply leaves no such trace; there nvidia.com/gpu: 0 has this effect.

#include <set>
#include <string>
#include <vector>

#include "admission/claim_template.h"
#include "admission/fleet.h"
#include "admission/past.h"
#include "admission/pod_parts.h"
#include "admission/record.h"
#include "base/result.h"

namespace tranche::admission {

struct ContainerPlan {
  enum class State { kLeft, kSettled, kAsks };
  State state = State::kLeft;
  // If kAsks: a claim of the Pod and a request of it (empty: all), or a resource.
  std::string claim;
  std::string request;
  std::string template_name;
  std::string resource;
  // If kAsks or kLeft: leftovers of an earlier rewrite.
  std::set<std::string> old_claims;
  std::set<std::string> old_resources;
};

struct Plan {
  std::vector<ContainerPlan> containers;  // in the order of PodParts
  Records records;                        // to write
  std::set<std::string> stale;            // our claims in the Pod that nobody uses
  std::vector<ClaimTemplate> templates;   // of the Pod's claims
  std::vector<std::string> warnings;
};

// Errors: those of share.h, claim_template.h and replica.h; also kInvalidArgument if requesting
// containers have missing or equal names, and kFailedPrecondition for a Pod that names its node.
Result<Plan> make_plan(const PodParts& pod, const Manifests& manifests, const Fleet& fleet,
                       const ClaimOptions& options);

}  // namespace tranche::admission
