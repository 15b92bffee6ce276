#pragma once
// Evicts the Pods that agents ask to be evicted (cluster/eviction_requests.h), because they use a
// limited device past the limiter and their node's configuration says `unregistered: evict`.
//
// What a Node says is not trusted beyond that node: the Pod must be bound to it, and be the one
// that was meant (uid). Pods of kube-system and of this release, and static Pods, are reported and
// left alone. Eviction respects PodDisruptionBudgets and is tried until it is done or no longer
// asked for. Each outcome becomes an Event on the Pod.
//
// Works over the port, on threads of its own: the cache's, which only takes note, and the
// retrier's, which does the work. The destructor stops them.

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/retrier.h"
#include "cluster/event_recorder.h"
#include "cluster/eviction_requests.h"
#include "cluster/objects.h"
#include "cluster/pod.h"
#include "cluster/watch_cache.h"
#include "controller/worker.h"

namespace tranche::controller {

class Evictor : public Worker {
 public:
  struct Options {
    std::string ns;        // of the release
    std::string instance;  // who reports: the Pod
    // How much longer this process may write; nothing is begun when it is over. Empty: for ever.
    std::function<std::chrono::milliseconds()> time_left = {};
    Backoff watch_backoff = {};
    Backoff backoff = {};
  };

  // The references outlive it.
  Evictor(cluster::Objects& objects, Options options, const Clock& clock, const Log& log);
  Evictor(const Evictor&) = delete;
  Evictor& operator=(const Evictor&) = delete;

  std::optional<std::string> trouble() const override;

 private:
  // Of one node; jobs are keyed by node and uid.
  struct Asked {
    cluster::WallTime written_at;
    std::map<std::string, cluster::EvictionRequest> open;  // by uid
    std::set<std::string> settled;                         // uids, while they are asked for
    std::string complaint;                                 // about the annotation, logged
  };

  void take(const cluster::CacheChange& change);
  void take_requests(const std::string& node, const cluster::EvictionRequests& requests);
  void drop(const std::string& node, const Asked& asked);
  // What is asked for still, and since when; nullopt: nothing, or it is too old.
  std::optional<cluster::EvictionRequest> request(const std::string& node, const std::string& uid);
  void settle(const std::string& node, const std::string& uid);

  Result<void> work(const std::string& node, const std::string& uid, const std::stop_token& stop);
  Result<void> evict(const std::string& node, const cluster::EvictionRequest& request,
                     const cluster::Pod& pod, const cluster::Call& call);
  std::string objection(const std::string& node, const cluster::Pod& pod) const;
  void tell(const cluster::Pod& pod, std::string reason, std::string note,
            const cluster::Call& call);
  Result<cluster::Call> call(const std::stop_token& stop) const;

  cluster::Objects& objects_;
  const Options options_;
  const Clock& clock_;
  const Log& log_;
  std::mutex mutex_;
  std::map<std::string, Asked> asked_;  // by node; guarded by mutex_
  // Of the retrier's thread.
  cluster::EventRecorder events_;
  std::set<std::string> blocked_told_;  // uids
  Retrier retrier_;
  cluster::WatchCache nodes_;  // last: its thread hands work to the retrier
};

// `options.time_left` is the worker's context's.
WorkerPlan plan_evictions(Evictor::Options options);

}  // namespace tranche::controller
