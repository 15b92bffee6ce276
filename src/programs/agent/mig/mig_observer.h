#pragma once
// Reads the facts for the manager's state machine (MigFacts): the Node, the wished layout, the
// hardware, who holds what, and whether kubelet offers the new layout. Changes nothing. Used by the
// manager's thread; waits for NVML, kubelet and the API server.

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/mig/mig_clients.h"
#include "agent/mig/mig_holders.h"
#include "agent/mig/mig_machine.h"
#include "agent/mig/mig_out_of_service.h"
#include "agent/mig/mig_planner.h"
#include "agent/mig/mig_progress.h"
#include "agent/mig/mig_view.h"
#include "cluster/node.h"
#include "gpu/mig_control.h"

namespace tranche::agent {

struct MigPods {
  std::vector<cluster::ObjectKey> holders;        // of what leaves service; those with a name
  std::map<cluster::ObjectKey, std::string> why;  // cluster::MigChange::why
  OwnSelector own;                                // of this agent's Pod
};

class MigObserver {
 public:
  struct Options {
    std::filesystem::path state_dir;
    std::string config_file;  // of mig-parted; "": none
    std::string own_pod;      // "namespace/name"; "": not known
  };
  struct Ports {
    gpu::MigControl& control;
    MigHolders::Ports holders;
    std::function<Result<cluster::Node>()> node;  // kUnavailable: not known
    const Clock& clock;
    const Log& log;
  };
  MigObserver(Options options, const Ports& ports);
  MigObserver(const MigObserver&) = delete;
  MigObserver& operator=(const MigObserver&) = delete;

  MigFacts observe(const MigProgress& progress, const MigLeaving& leaving,
                   const std::shared_ptr<const MigView>& view);
  // Called before the first text about a change, so that it names the Pods: the controller's
  // announcement is made from it. Does nothing for a change that was named.
  void name_pods(const mig::Journal& journal, const MigLeaving& leaving, const MigView& view);
  const MigPods& pods() const { return pods_; }

  void forget_plan() { planner_.forget(); }

 private:
  void look_at_node(const MigProgress& progress, MigFacts& facts) const;
  void look_at_change(const MigProgress& progress, const MigLeaving& leaving, const MigView& view,
                      MigFacts& facts);
  void look_at_clients(MigFacts& facts);
  void note_pods(const mig::Journal& journal,
                 const std::optional<std::vector<cluster::ObjectKey>>& holders,
                 const MigLeaving& leaving, const MigView& view);

  Options options_;
  Ports ports_;
  MigHolders holders_;
  MigPlanner planner_;  // refers to holders_
  MigPods pods_;
  std::string named_;  // id of the change that pods_ is about; empty: none
};

}  // namespace tranche::agent
