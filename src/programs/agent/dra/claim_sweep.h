#pragma once
// Undoes claims that kubelet will never have undone: it has lost its own notes of them, or another
// agent prepared them while this one undid them. Without it their share of a GPU stays taken until
// the next reboot.

#include <functional>
#include <set>
#include <string>

#include "agent/holdings/book.h"
#include "base/log.h"
#include "base/result.h"
#include "cluster/objects.h"
#include "cluster/pod_resources.h"
#include "dra/driver.h"

namespace tranche::agent {

class ClaimSweep {
 public:
  struct Ports {
    cluster::Objects& objects;
    cluster::PodResources& kubelet;
    const Book& book;
    std::function<Result<void>(const dra::ClaimName& claim)> undo;
    const Log& log;
  };
  explicit ClaimSweep(Ports ports) : ports_(std::move(ports)) {}

  // Asks the API server for each claim that is prepared. One is undone if its object is gone, no
  // container that kubelet knows has a claim of its name, and the look before found the same: a Pod
  // that is deleted by force is still being ended. Not thread-safe. Errors: as Objects::get(),
  // PodResources::list() and undo; nothing is undone of what could not be judged.
  Result<void> look();

 private:
  // Whether the object of a prepared claim is there no more.
  Result<bool> is_gone(const dra::PreparedClaim& claim) const;

  const Ports ports_;
  std::set<std::string> gone_;  // uids, at the last look
};

}  // namespace tranche::agent
