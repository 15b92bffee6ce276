#pragma once
// Reports the arbiter's findings as Events on the Node and the Pod. By an annotation on its own
// Node it asks the controller to evict the Pods for which the configuration says so
// (cluster/formats/eviction_requests.h). The agent evicts nothing itself.
//
// Tells the book who uses a device without a grant.
//
// While no arbiter runs there are no findings: nothing is reported, and requests are withdrawn.
//
// One thread calls look() at intervals; any thread may call follow().

#include <filesystem>
#include <mutex>
#include <optional>
#include <string>

#include "agent/holdings/book.h"
#include "agent/limits/finding_notices.h"
#include "agent/node/node_view.h"
#include "agent/node/node_writer.h"
#include "agent/node/pods_of_node.h"
#include "base/clock.h"
#include "base/log.h"
#include "cluster/client/standing_events.h"
#include "cluster/objects.h"
#include "limit/status_reader.h"
#include "process/liveness_file.h"

namespace tranche::agent {

class FindingReporter {
 public:
  struct Options {
    std::filesystem::path arbiter_dir;  // the arbiter's --state-dir
    bool asks = false;                  // a controller is there to evict
  };

  FindingReporter(cluster::Objects& objects, const NodeView& node, PodsOfNode& pods, Book& book,
                  Options options, const Clock& clock, const Log& log);

  // Sets which Pods are to be evicted from now on.
  void follow(EvictPolicy policy);
  // Reads the arbiter's status once, and brings Events and requests up to date.
  void look(const cluster::Call& call);

 private:
  void read_status();
  void ask(std::vector<cluster::EvictionRequest> wanted, const cluster::Call& call);
  bool write(const std::vector<cluster::EvictionRequest>& wanted, const cluster::Call& call);

  const NodeView& node_;
  PodsOfNode& pods_;  // read from the first finding on
  Book& book_;
  const Options options_;
  const Clock& clock_;
  const Log& log_;
  NodeWriter writer_;
  std::mutex mutex_;
  EvictPolicy policy_;  // guarded by mutex_
  // Only on look()'s thread, from here.
  limit::StatusReader status_;
  std::string complaint_;  // about the status, logged last
  cluster::StandingEvents events_;
  std::optional<std::chrono::steady_clock::time_point> asked_;
  std::vector<cluster::EvictionRequest> asked_for_;
};

}  // namespace tranche::agent
