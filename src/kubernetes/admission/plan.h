#pragma once
// Decides what each container of a Pod shall have in the place of its fraction: a claim of its own,
// a request of a claim that containers share a GPU by, or one replica. rewrite.cpp turns that into
// a patch. Pure.
//
// A container is in one of these states, by the Pod's spec first and the record second:
//
//   asks      a fraction, or one GPU with annotations (share.h). It is planned anew, whatever the
//             record says; a claim of ours that it has keeps its name.
//   settled   asks nothing, and its record is true: the spec has the claim or the replica. It stays
//             as it is, so that a rewrite of a rewritten object changes nothing.
//   left      all others. Entries of ours (past.h) are taken out.
//
// A user who takes the fraction out of a manifest and applies it sends an object that looks
// settled: the field that `kubectl apply` would remove has gone before. The change of the
// annotation kubectl.kubernetes.io/last-applied-configuration tells the two apart: the manifest
// asked before, and asks no longer. The annotation as it is now would not do: after `kubectl
// rollout undo` it is that of another revision. A server-side apply leaves no such trace; there
// nvidia.com/gpu: 0 says it.

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
  // Of a container that asks: a claim of the Pod and a request of it (empty: all), or a resource.
  std::string claim;
  std::string request;
  std::string template_name;
  std::string resource;
  // Of a container that asks or is left: what an earlier rewrite put there and is of no use now.
  std::set<std::string> old_claims;
  std::set<std::string> old_resources;
};

struct Plan {
  std::vector<ContainerPlan> containers;  // as PodParts has them
  Records records;                        // to be written
  std::set<std::string> stale;            // claims of the Pod that are ours and have no use
  std::vector<ClaimTemplate> templates;   // that the Pod's claims are made from
  std::vector<std::string> warnings;
};

// Errors: those of share.h, claim_template.h and replica.h; kInvalidArgument also for containers
// that ask and have no name of their own, and kFailedPrecondition for a Pod that names its node.
Result<Plan> make_plan(const PodParts& pod, const Manifests& manifests, const Fleet& fleet,
                       const ClaimOptions& options);

}  // namespace tranche::admission
