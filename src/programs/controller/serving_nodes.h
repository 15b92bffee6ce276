#pragma once
// Nodes that report not to serve: those whose condition TrancheServing, written by the node's agent
// (agent/plugins/), is False.
//
// A node without the condition, or with Unknown, is judged by its agent's Pod, ready or not: the
// agent may have no right to write the condition, or be too old to. A condition outlives the agent
// that wrote it, so it counts only where a Pod of the agents' DaemonSet is ready (with_ready_pod).
//
// Works over the port cluster::Objects, on the watch's thread, which only notifies.

#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "base/result.h"
#include "cluster/daemon_set.h"
#include "controller/worker.h"

namespace tranche::controller {

// The name of a node -> the reason of its condition.
using NodeReasons = std::map<std::string, std::string>;

class ServingNodes {
 public:
  // `notify`: called when not_serving() has changed, and once after the first complete list; see
  // the listener of a Watch.
  ServingNodes(const WorkerContext& context, std::function<void()> notify);

  const Watch& cache() const { return cache_; }
  NodeReasons not_serving() const;

 private:
  void take(const cluster::CacheChange& change);

  const std::function<void()> notify_;
  mutable std::mutex mutex_;
  NodeReasons not_serving_;
  // Last: its thread uses the others.
  Watch cache_;
};

// Those of `nodes` on which a Pod of `agents` is ready. Lists Pods unless `nodes` is empty.
Result<NodeReasons> with_ready_pod(cluster::Objects& objects, const cluster::DaemonSet& agents,
                                   const NodeReasons& nodes, const cluster::Call& call);

}  // namespace tranche::controller
