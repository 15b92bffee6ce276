#pragma once
// Makes claims anew that wait for a GPU and do not name what the cluster has now
// (admission/outdated.h): deletes each, and makes it again for its Pod, by the same name, from the
// template as it is now. A Pod that waits so gets a node that comes later, of a model that the
// cluster did not have.
//
// Kubernetes is not left to make it: kube-controller-manager (1.36) remembers for an hour what it
// has made, and takes a claim that was deleted for still there. By the same name, because the
// Pod's status names it. A claim that is missing for a while, whoever deleted it, is made too.
//
// Only a claim that nobody has is deleted, by the uid and resourceVersion with which it was seen:
// whoever allocates it at that moment writes it before, so that the deletion is refused, or after,
// so that his write is. The scheduler then tries again. A claim that bears the mark of the template
// is never deleted, whatever others have made of it, so nothing goes round in a circle.
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
  // What a claim that waits would be made of now, and for whom; nullopt: nobody can say, and the
  // claim stays as it is.
  struct Wish {
    std::optional<admission::ClaimTemplate> wanted;
    ClaimedFor pod;
  };
  using Waiting = std::map<cluster::ObjectKey, Wish>;

  // How long Kubernetes has for making one that is missing.
  static constexpr std::chrono::seconds kMissing{10};

  // The references outlive it.
  ClaimRenewer(cluster::Objects& objects, const Clock& clock, const Log& log)
      : objects_(objects), clock_(clock), log_(log) {}

  // `waiting`: all that Pods name which wait. A claim that was found good for a template is not
  // read again.
  Result<void> renew(const Waiting& waiting, const cluster::Call& call);

  // When to come again, although nothing changed.
  std::optional<std::chrono::milliseconds> next() const;

 private:
  using TimePoint = std::chrono::steady_clock::time_point;

  // Whether there is no need to look at the claim again.
  Result<bool> look(const cluster::ObjectKey& key, const admission::ClaimTemplate& wanted,
                    const ClaimedFor& pod, const cluster::Call& call);
  Result<bool> make(const cluster::ObjectKey& key, const admission::ClaimTemplate& wanted,
                    const ClaimedFor& pod, const cluster::Call& call);
  // Claims that we made, and whose Pod names another: Kubernetes was quicker.
  Result<void> drop_unused(const Waiting& waiting, const cluster::Call& call);

  cluster::Objects& objects_;
  const Clock& clock_;
  const Log& log_;
  std::map<cluster::ObjectKey, std::string> good_;   // for the template of this text
  std::map<cluster::ObjectKey, TimePoint> missing_;  // since when; of one that we deleted: long ago
  std::set<cluster::ObjectKey> made_;
};

}  // namespace tranche::controller
