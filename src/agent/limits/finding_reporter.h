#pragma once
// Has people and the controller know what the arbiter found: tells of each
// finding by Events on the Node and the Pod, and asks the controller, by an annotation of this
// agent's own Node, to evict the Pods for which the configuration says so
// (cluster/eviction_requests.h). The agent evicts nothing itself.
//
// Nothing is found by an arbiter that does not live: then nothing is told, and what was asked for
// is taken back.
//
// look() is called at intervals by one thread; follow() by any.

#include <filesystem>
#include <mutex>
#include <optional>
#include <string>

#include "agent/limits/finding_notices.h"
#include "agent/node/node_view.h"
#include "agent/node/node_writer.h"
#include "agent/node/pods_of_node.h"
#include "base/clock.h"
#include "base/log.h"
#include "cluster/objects.h"
#include "cluster/standing_events.h"
#include "limit/status_reader.h"
#include "process/liveness_file.h"

namespace tranche::agent {

class FindingReporter {
 public:
  struct Options {
    std::filesystem::path arbiter_dir;  // the arbiter's --state-dir
    bool asks = false;                  // a controller evicts
  };

  // The references outlive it.
  FindingReporter(cluster::Objects& objects, const NodeView& node, PodsOfNode& pods,
                  Options options, const Clock& clock, const Log& log);

  // Who is to be evicted from now on.
  void follow(EvictPolicy policy);
  // Does what is to be done now.
  void look(const cluster::Call& call);

 private:
  void read_status();
  void ask(std::vector<cluster::EvictionRequest> wanted, const cluster::Call& call);
  bool write(const std::vector<cluster::EvictionRequest>& wanted, const cluster::Call& call);

  const NodeView& node_;
  PodsOfNode& pods_;  // asked from the first finding on
  const Options options_;
  const Clock& clock_;
  const Log& log_;
  NodeWriter writer_;
  std::mutex mutex_;
  EvictPolicy policy_;  // guarded by mutex_
  // Of look()'s thread.
  limit::StatusReader status_;
  std::string complaint_;  // about the status, logged last
  cluster::StandingEvents events_;
  std::optional<std::chrono::steady_clock::time_point> asked_;
  std::vector<cluster::EvictionRequest> asked_for_;
};

}  // namespace tranche::agent
