#pragma once
// Undoes claims that kubelet will never have undone: it has lost its record of them, or another
// agent prepared them while this one undid them. Otherwise their share of a GPU stays taken until
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

  // Asks the API server for each prepared claim. Undoes a claim if its object is gone, no container
  // that kubelet knows has a claim of its name, and the previous look found the same: the
  // containers of a Pod deleted by force may still be ending. Not thread-safe. Errors: as
  // Objects::get(), PodResources::list() and undo; a claim is not undone if either could not be
  // asked.
  Result<void> look();

 private:
  Result<bool> is_gone(const dra::PreparedClaim& claim) const;

  const Ports ports_;
  std::set<std::string> gone_;  // uids, at the last look
};

}  // namespace tranche::agent
