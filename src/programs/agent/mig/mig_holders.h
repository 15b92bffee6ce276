#pragma once
// Who holds what leaves service, from kubelet and the book of holdings, and whether kubelet still
// gives any of it out. Used by the manager's thread; waits for kubelet, and for the API server
// about claims.

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/holdings/book.h"
#include "agent/holdings/holder_answers.h"
#include "agent/loop/state.h"
#include "agent/mig/mig_service.h"
#include "agent/mig/mig_wish.h"
#include "cluster/object.h"
#include "cluster/pod.h"
#include "cluster/pod_resources.h"
#include "gpu/machine.h"

namespace tranche::agent {

class MigHolders {
 public:
  // Accepted age of kubelet's answer.
  static constexpr std::chrono::milliseconds kAge{150};

  struct Ports {
    cluster::PodResources& kubelet;
    HolderAnswers& answers;
    Book& book;
    // The Pods that use a claim; one without a name if unknown.
    std::function<std::vector<cluster::ObjectKey>(const cluster::ObjectKey& claim)> users_of_claim;
    // The Pods of this node; nullopt: not known yet. Empty: they cannot be known.
    std::function<std::optional<std::vector<cluster::Pod>>()> pods;
    std::function<void()> look_again;        // has the agent make a new offer
    std::function<void()> renew_checkpoint;  // has kubelet write its checkpoint
  };
  explicit MigHolders(Ports ports) : ports_(std::move(ports)) {}

  // The Pods that hold one of these devices; one without a name for unknown holders. nullopt:
  // kubelet does not answer, or the prepared claims are not known yet. `age`: accepted age of
  // kubelet's answer.
  std::optional<std::vector<cluster::ObjectKey>> of(const std::set<std::string>& devices,
                                                    std::chrono::milliseconds age);
  // Why Pods that hold nothing that changes must go (MigStanding::neighbours).
  std::map<cluster::ObjectKey, std::string> why(const MigStanding& leaving,
                                                const gpu::Machine& machine) const;
  // The GPU instances that containers hold. Empty if kubelet does not answer.
  HeldInstances instances(const MigStates& states, const gpu::Machine& machine);
  bool are_withheld(const std::set<std::string>& devices) const;

 private:
  Ports ports_;
};

}  // namespace tranche::agent
