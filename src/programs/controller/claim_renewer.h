#pragma once
// Replaces claims that wait for a GPU and do not name what the cluster has now
// (admission/outdated.h): deletes each, and creates it again for its Pod from the current template,
// with the same name, which the Pod's status has. So a waiting Pod can use a node that joins later
// with a new model.
//
// kube-controller-manager (1.36) cannot be left to create it: it remembers for an hour which claims
// it created, and takes a deleted one for existing. A claim that is missing for kMissing, whoever
// deleted it, is created too.
//
// Only a claim that is neither allocated nor reserved is deleted, and only at the uid and
// resourceVersion that were read. An allocation at that moment comes either before, and the
// deletion is refused, or after, and the allocation is. The scheduler then tries again. A claim
// with the mark of the current template is never deleted, whatever others changed in it, so there
// is no endless loop.
//
// Used by one thread at a time. Works over the port cluster::Objects.

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "admission/claim_template.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "cluster/objects.h"
#include "controller/share_templates.h"

namespace tranche::controller {

class ClaimRenewer {
 public:
  // What a waiting claim would be created from now, and for which Pod; nullopt: unknown, and the
  // claim stays as it is.
  struct Wish {
    std::optional<admission::ClaimTemplate> wanted;
    ClaimedFor pod;
  };
  using Waiting = std::map<cluster::ObjectKey, Wish>;

  // How long Kubernetes has to create a missing claim.
  static constexpr std::chrono::seconds kMissing{10};

  // The references outlive it.
  ClaimRenewer(cluster::Objects& objects, const Clock& clock, const Log& log)
      : objects_(objects), clock_(clock), log_(log) {}

  // `waiting`: all waiting claims that Pods name. A claim found good for a template is not read
  // again.
  Result<void> renew(const Waiting& waiting, const cluster::Call& call);

  // When to call renew() again although nothing changed; nullopt: no need.
  std::optional<std::chrono::milliseconds> next() const;

 private:
  using TimePoint = std::chrono::steady_clock::time_point;

  // Whether the claim need not be read again.
  Result<bool> look(const cluster::ObjectKey& key, const admission::ClaimTemplate& wanted,
                    const ClaimedFor& pod, const cluster::Call& call);
  Result<bool> make(const cluster::ObjectKey& key, const admission::ClaimTemplate& wanted,
                    const ClaimedFor& pod, const cluster::Call& call);
  // Deletes claims that we created but whose Pod names another: Kubernetes was faster.
  Result<void> drop_unused(const Waiting& waiting, const cluster::Call& call);

  cluster::Objects& objects_;
  const Clock& clock_;
  const Log& log_;
  std::map<cluster::ObjectKey, std::string> good_;   // value: the template's JSON
  std::map<cluster::ObjectKey, TimePoint> missing_;  // since when; long ago if we deleted it
  std::set<cluster::ObjectKey> made_;
};

}  // namespace tranche::controller
