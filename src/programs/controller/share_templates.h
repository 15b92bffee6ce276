#pragma once
// The ResourceClaimTemplates of Pods' shares: follows those with our label, and creates one that is
// missing or was made for another fleet.
//
// A template's spec is immutable, so an old one is deleted, by its uid, and created anew. A
// checksum in an annotation says what a template was made of, and in a label what a claim was: the
// spec itself cannot be compared, because the API server adds defaults to it. An object of that
// name without our label is somebody else's and is not touched.
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

  // Ensures that the namespace has the template as wanted. Asks the API server only if that is not
  // known. kFailedPrecondition: somebody else's object has the name. kPermission, kUnavailable,
  // ...: the API server refuses, or does not answer.
  Result<void> ensure(const std::string& ns, const admission::ClaimTemplate& wanted,
                      const cluster::Call& call);

  // Whether a template of that name, or made as wanted now, is known to exist.
  bool has(const std::string& ns, const std::string& name) const;
  bool has(const std::string& ns, const admission::ClaimTemplate& wanted) const;
  // Our templates, as far as known.
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
  std::string pod_claim;  // its name in the Pod
  std::string pod;
  std::string pod_uid;
};
// The ResourceClaim as Kubernetes creates it from the template for this Pod.
Result<std::string> claim_text(const admission::ClaimTemplate& wanted, const ClaimedFor& pod);

// Whether the template or claim was made from exactly this one.
bool is_made_of(const cluster::Object& object, const admission::ClaimTemplate& wanted);

}  // namespace tranche::controller
