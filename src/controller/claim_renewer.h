#pragma once
// Has claims made anew that wait for a GPU and do not name what the cluster has now
// (admission/outdated.h): they are deleted, and Kubernetes makes each again for its Pod, from the
// template as it is now. A Pod that waits so gets a node that comes later, of a model that the
// cluster did not have.
//
// Only a claim that nobody has is deleted, by the uid and resourceVersion with which it was seen:
// whoever allocates it at that moment writes it before, so that the deletion is refused, or after,
// so that his write is. The scheduler then tries again. A claim that bears the mark of the template
// is never deleted, whatever others have made of it, so nothing goes round in a circle.
//
// Used by one thread at a time. Works over the port cluster::Objects.

#include <map>
#include <string>

#include "admission/claim_template.h"
#include "base/log.h"
#include "base/result.h"
#include "cluster/objects.h"

namespace tranche::controller {

class ClaimRenewer {
 public:
  // What each claim that waits would be made of now.
  using Waiting = std::map<cluster::ObjectKey, admission::ClaimTemplate>;

  // The references outlive it.
  ClaimRenewer(cluster::Objects& objects, const Log& log) : objects_(objects), log_(log) {}

  // `waiting`: all of them. A claim that was found good for a template is not read again.
  Result<void> renew(const Waiting& waiting, const cluster::Call& call);

 private:
  // Whether there is no need to look at the claim again.
  Result<bool> look(const cluster::ObjectKey& key, const admission::ClaimTemplate& wanted,
                    const cluster::Call& call);

  cluster::Objects& objects_;
  const Log& log_;
  std::map<cluster::ObjectKey, std::string> good_;  // for the template of this text
};

}  // namespace tranche::controller
