#pragma once
// Evicts the Pods that agents request (cluster/formats/eviction_requests.h): Pods that use a
// limited device without the limiter, where the node's configuration says `unregistered: evict`.
//
// A Node's request counts for that node only: the Pod must be bound to it and have the requested
// uid. Protected Pods (pod_eviction.h) are reported and left running. Eviction respects
// PodDisruptionBudgets. It is retried until it succeeds or the request is withdrawn. Each outcome
// becomes an Event on the Pod.

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "cluster/client/event_recorder.h"
#include "cluster/formats/eviction_requests.h"
#include "cluster/pod.h"
#include "controller/work_queue.h"
#include "controller/worker.h"

namespace tranche::controller {

class Evictor : public Worker {
 public:
  struct Options {
    std::string ns;  // the release's namespace
  };

  Evictor(const WorkerContext& context, Options options);
  Evictor(const Evictor&) = delete;
  Evictor& operator=(const Evictor&) = delete;

  std::optional<std::string> trouble() const override;

 private:
  struct Asked {
    cluster::WallTime written_at;
    std::map<std::string, cluster::EvictionRequest> open;  // by uid
    // Uids evicted or refused whose request still stands.
    std::set<std::string> settled;
    // The last logged complaint about the annotation.
    std::string complaint;
  };

  void take(const cluster::CacheChange& change);
  void take_requests(const std::string& node, const cluster::EvictionRequests& requests);
  void drop(const std::string& node, const Asked& asked);
  // The request; nullopt: withdrawn or too old.
  std::optional<cluster::EvictionRequest> request(const std::string& node, const std::string& uid);
  void settle(const std::string& node, const std::string& uid);

  Result<WorkQueue::Next> visit(const std::string& name, const std::stop_token& stop);
  Result<void> work(const std::string& node, const std::string& uid, const std::stop_token& stop);
  Result<void> evict(const std::string& node, const cluster::EvictionRequest& request,
                     const cluster::Pod& pod, const cluster::Call& call);
  Result<cluster::Call> call(const std::stop_token& stop) const;

  const WorkerContext context_;
  const Options options_;
  std::mutex mutex_;
  std::map<std::string, Asked> asked_;  // by node; guarded by mutex_
  // Used by the queue's thread only.
  cluster::EventRecorder events_;
  std::set<std::string> blocked_told_;  // uids of Pods whose blocked eviction was reported
  WorkQueue queue_;                     // of requested Pods
  Watch nodes_;                         // last: its thread uses the queue
};

std::optional<WorkerPlan> plan_evictions(const config::ControllerOptions& options);

}  // namespace tranche::controller
