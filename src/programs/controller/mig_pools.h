#pragma once
// Gives pools of nodes their MIG layout, one node after the other (mig/pool_plan.h): it reads the
// pools from a ConfigMap in the release's namespace, plans from the Nodes only, and sets the label
// that the node's agent follows.
//
// Label and pool annotation are written by server-side apply without force, so that values of
// others are not overwritten. Before, the agent's state is set to "pending". Both writes are for
// the Node as it was read, so the state of the old layout never counts for the new one.
//
// Each pool's progress is a key of the ConfigMap <pools>-status; its end is an Event on the pools'
// ConfigMap. Nodes of a removed pool stay as they are.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/said_once.h"
#include "cluster/client/event_recorder.h"
#include "cluster/config_map.h"
#include "cluster/node.h"
#include "controller/work_queue.h"
#include "controller/worker.h"
#include "mig/pool_plan.h"

namespace tranche::controller {

class MigPools : public Worker {
 public:
  // Key in the ConfigMap of pools.
  static constexpr const char* kKey = "pools.yaml";

  struct Options {
    std::string ns;    // the release's namespace
    std::string name;  // the ConfigMap
    // Time between two looks at the Nodes: while a pool changes, and otherwise.
    std::chrono::milliseconds look = std::chrono::seconds(3);
    std::chrono::milliseconds rest = std::chrono::seconds(30);
  };

  MigPools(const WorkerContext& context, Options options);
  MigPools(const MigPools&) = delete;
  MigPools& operator=(const MigPools&) = delete;

  std::optional<std::string> trouble() const override;

 private:
  Result<WorkQueue::Next> visit(const std::stop_token& stop);
  // nullopt: the ConfigMap is missing or unreadable; this is logged or becomes an Event.
  Result<std::optional<std::vector<mig::Pool>>> read_pools(const cluster::Call& call);
  Result<std::vector<cluster::Node>> read_nodes(const cluster::Call& call);
  Result<void> write(const mig::PoolWrite& write, const cluster::Call& call);
  Result<void> tell(const std::vector<mig::PoolStatus>& statuses, const cluster::Call& call);
  void tell_event(bool warning, const char* reason, std::string note, const cluster::Call& call);

  const WorkerContext context_;
  const Options options_;
  // Used by the queue's thread only.
  cluster::EventRecorder events_;
  SaidOnce said_;
  cluster::ConfigMap pools_map_;  // as read last
  WorkQueue queue_;
  Watch maps_;  // last: its thread uses the queue
};

std::optional<WorkerPlan> plan_mig_pools(const config::ControllerOptions& options);

}  // namespace tranche::controller
