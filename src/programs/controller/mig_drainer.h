#pragma once
// The controller's part of a change of a node's MIG layout (cluster/formats/mig_change.h;
// docs/mig-manager.md): it decides whether the change may be made, cordons the Node, evicts the
// Pods that hold leaving devices, and finally removes its cordon.
//
// All state is in the Node, read anew for each step, so a new controller continues where the last
// one ended. The Node stays cordoned, even if somebody uncordons it, until the change is over and
// kubelet has reported what is left, or Options::telling has passed. An existing cordon stays. So
// does ours if the agent is silent: nobody knows the state of the hardware.
//
// Protected Pods (controller/pod_eviction.h) are not evicted. Pods of DaemonSets are, for they hold
// devices like others.

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/said_once.h"
#include "cluster/client/event_recorder.h"
#include "cluster/formats/mig_change.h"
#include "cluster/pod.h"
#include "controller/mig_node.h"
#include "controller/work_queue.h"
#include "controller/worker.h"

namespace tranche::controller {

class MigDrainer : public Worker {
 public:
  struct Options {
    std::string ns;  // the release's namespace
    // Time between two looks at the Pods of a draining node.
    std::chrono::milliseconds look = std::chrono::seconds(2);
    // How long kubelet may take to report what the node offers after a change; by default it
    // reports every 10 s.
    std::chrono::seconds telling{30};
  };

  MigDrainer(const WorkerContext& context, Options options);
  MigDrainer(const MigDrainer&) = delete;
  MigDrainer& operator=(const MigDrainer&) = delete;

  std::optional<std::string> trouble() const override;

 private:
  using Next = WorkQueue::Next;

  Result<Next> visit(const std::string& name, const std::stop_token& stop);
  Result<Next> look_for_leftovers(const cluster::Call& call);
  Result<Next> follow(const MigNode& node, const cluster::Call& call);
  Result<Next> answer(const MigNode& node, const cluster::Call& call);
  Result<Next> drain(const MigNode& node, const cluster::Call& call);
  Result<Next> keep(const MigNode& node, const cluster::Call& call);
  Result<Next> finish(const MigNode& node, const cluster::Call& call);
  // Whether the Node still offers what is gone, and kubelet may still report.
  bool is_early(const MigNode& node);
  // The change is no longer open.
  Result<Next> release(const MigNode& node, const cluster::Call& call);
  // The Node is gone, or its change is over.
  void forget(const std::string& node);
  void tell_silence(const MigNode& node, const cluster::Call& call);

  struct Decision {
    cluster::MigDrain drain;
    std::string note;  // of the Event
  };
  Result<Decision> decide(const MigNode& node, const cluster::Call& call);
  Result<std::vector<cluster::MigDrain::Blocked>> evict(const MigNode& node,
                                                        const cluster::Call& call);
  // Why the Pod is still there; empty: it holds nothing any more.
  std::string evict_one(const MigNode& node, const cluster::Pod& pod, const cluster::Call& call);
  std::string not_evicted(const MigNode& node, const cluster::Pod& pod, const char* reason,
                          const std::string& why, const cluster::Call& call,
                          const std::string& again = "");

  // Writes if something differs, and at least every MigChange::kRefresh.
  Result<void> write(const MigNode& node, cluster::MigDrain drain, Cordon cordon,
                     const cluster::Call& call);
  void tell(const MigNode& node, bool warning, const char* reason, std::string note,
            const cluster::Call& call, cluster::WallTime time = {});

  const WorkerContext context_;
  const Options options_;
  // Used by the queue's thread only.
  cluster::EventRecorder events_;
  // By node: change and uid of Pods whose blocked eviction was reported.
  std::map<std::string, std::set<std::string>> told_;
  struct Finished {
    std::string change;
    std::chrono::steady_clock::time_point seen;
  };
  std::map<std::string, Finished> finished_;  // by node, while the cordon waits for kubelet
  SaidOnce said_;
  WorkQueue queue_;
  Watch nodes_;  // last: its thread uses the queue
};

std::optional<WorkerPlan> plan_mig_changes(const config::ControllerOptions& options);

}  // namespace tranche::controller
