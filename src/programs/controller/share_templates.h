#pragma once
// The ResourceClaimTemplates that Pods' shares are claimed from, in the cluster: follows those that
// bear our label, and makes one that is missing or of a fleet that has changed.
//
// A template's spec cannot change, so an old one is deleted, by its uid, and made anew. What a
// template was made of is told by a checksum in an annotation: the API server adds defaults to its
// spec, so the spec itself is not compared. Claims made from it bear it too. An object of that name
// without our label is somebody else's and is not touched.
//
// Thread-safe. The destructor ends the watch. Works over the port cluster::Objects.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admission/claim_template.h"
#include "base/result.h"
#include "controller/worker.h"

namespace tranche::controller {

class ShareTemplates {
 public:
  explicit ShareTemplates(const WorkerContext& context);
  ShareTemplates(const ShareTemplates&) = delete;
  ShareTemplates& operator=(const ShareTemplates&) = delete;

  // Sees that the namespace has the template, as it is wanted. Asks the API server only where that
  // is not known. kFailedPrecondition: somebody else's object has the name. kPermission,
  // kUnavailable, ...: the API server refuses, or is away.
  Result<void> ensure(const std::string& ns, const admission::ClaimTemplate& wanted,
                      const cluster::Call& call);

  // Whether the template is known to be there, of that name and made as it is wanted now.
  bool has(const std::string& ns, const std::string& name) const;
  bool has(const std::string& ns, const admission::ClaimTemplate& wanted) const;
  // Ours, as far as is known.
  std::vector<cluster::Object> all() const { return cache_.all(); }
  bool synced() const { return cache_.synced(); }
  std::optional<std::string> trouble() const;

 private:
  Result<void> settle(const std::string& ns, const admission::ClaimTemplate& wanted,
                      const std::string& text, const cluster::Call& call);

  const WorkerContext context_;
  Watch cache_;
};

// The claim of a Pod.
struct ClaimedFor {
  std::string claim;      // its name
  std::string pod_claim;  // and in the Pod
  std::string pod;
  std::string pod_uid;
};
// The ResourceClaim as Kubernetes makes it from the template, for this Pod.
Result<std::string> claim_text(const admission::ClaimTemplate& wanted, const ClaimedFor& pod);

// Whether the object, a template or a claim, was made of this very one.
bool is_made_of(const cluster::Object& object, const admission::ClaimTemplate& wanted);

}  // namespace tranche::controller
