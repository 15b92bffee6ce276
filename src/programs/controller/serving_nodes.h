#pragma once
// Which nodes say that they do not serve: those whose condition TrancheServing is False, as the
// agent of the node writes it (agent/plugins/).
//
// A node without the condition says nothing: its agent may have no right to write it, or be older
// than it. One whose condition is Unknown does not know. There the agent's Pod has the word: it is
// ready, or not. And a condition outlives the agent that wrote it, so it counts only where a Pod of
// the agents' DaemonSet is ready (with_ready_pod).
//
// Works over the port, on the watch's thread, which only notifies.

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
  // `notify`: called as the listener of a Watch when not_serving() has changed, and once at the
  // first complete list.
  ServingNodes(const WorkerContext& context, std::function<void()> notify);

  const Watch& cache() const { return cache_; }
  NodeReasons not_serving() const;

 private:
  void take(const cluster::CacheChange& change);

  const std::function<void()> notify_;
  mutable std::mutex mutex_;
  NodeReasons not_serving_;
  // Last, because its thread uses the others.
  Watch cache_;
};

// Those of `nodes` on which a Pod of `agents` is ready. The API server is asked unless `nodes` is
// empty.
Result<NodeReasons> with_ready_pod(cluster::Objects& objects, const cluster::DaemonSet& agents,
                                   const NodeReasons& nodes, const cluster::Call& call);

}  // namespace tranche::controller
