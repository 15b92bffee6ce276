#pragma once
// Gives pools of nodes their MIG layout, node after node (mig/pool_plan.h): it reads the pools from
// a ConfigMap of the release's namespace, plans from the Nodes alone, and sets the label that the
// agent of a node follows.
//
// The label and the pool's annotation are written by server-side apply, without force: what
// somebody else set is not overwritten. The agent's state is put to "pending" first, and both
// writes hold for the Node as it was read, so the state of the layout before never counts for the
// new one.
//
// How far each pool is stands in the ConfigMap <pools>-status, one key a pool, and its end is an
// Event of the ConfigMap of pools. A pool that is taken out of the ConfigMap leaves its nodes as
// they are.
//
// Works over the port cluster::Objects, on a thread of its own. The destructor stops it.

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
  // Of the ConfigMap.
  static constexpr const char* kKey = "pools.yaml";

  struct Options {
    std::string ns;    // the release's namespace
    std::string name;  // the ConfigMap
    // Between two looks at the Nodes, while a pool changes and otherwise.
    std::chrono::milliseconds look = std::chrono::seconds(3);
    std::chrono::milliseconds rest = std::chrono::seconds(30);
  };

  MigPools(const WorkerContext& context, Options options);
  MigPools(const MigPools&) = delete;
  MigPools& operator=(const MigPools&) = delete;

  std::optional<std::string> trouble() const override;

 private:
  Result<WorkQueue::Next> visit(const std::stop_token& stop);
  // nullopt: there is no ConfigMap, or it cannot be read; that is told.
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
  Watch maps_;  // last: its thread asks the queue
};

std::optional<WorkerPlan> plan_mig_pools(const config::ControllerOptions& options);

}  // namespace tranche::controller
