#pragma once
// Makes the cluster's ClusterPolicy take effect: watches policies, the ConfigMaps of the namespace
// and the operator's DaemonSets; whenever one changes, decides (policy_map.h), writes the ConfigMap
// that the agents follow and the policies' status, and records an Event where the outcome changed.
//
// Nothing is written before all three have been read. What fails is tried again until it works, and
// logged once. Nodes are not watched: agents read their own.
//
// Works over the port, on threads of its own: those of the caches, which only ring, and the
// retrier's, which does the work. The destructor stops them all.

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/retrier.h"
#include "cluster/event_recorder.h"
#include "cluster/objects.h"
#include "cluster/watch_cache.h"
#include "controller/policy_map.h"
#include "controller/policy_status.h"
#include "controller/worker.h"
#include "process/change_notifier.h"

namespace tranche::controller {

class PolicyController : public Worker {
 public:
  struct Options {
    std::string ns;
    std::string out_name;
    std::string mps_root = {};  // PolicyFacts::mps_root
    std::string instance;       // who reports: the Pod
    // How much longer this process may write; nothing is begun when it is over. Empty: for ever.
    std::function<std::chrono::milliseconds()> time_left = {};
    Backoff watch_backoff = {};
    Backoff backoff = {};
  };

  // The references outlive it.
  PolicyController(cluster::Objects& objects, Options options, const Clock& clock, const Log& log);
  ~PolicyController() override;
  PolicyController(const PolicyController&) = delete;
  PolicyController& operator=(const PolicyController&) = delete;

  std::optional<std::string> trouble() const override;

 private:
  struct Policies {
    std::vector<cluster::Object> objects;
    std::vector<PolicyObject> parsed;  // the same, in the same order
  };

  // All of it, once, on the retrier's thread.
  Result<void> reconcile(const std::stop_token& stop);
  Policies policies() const;
  PolicyFacts facts(const Policies& policies, const PolicyObject* obeyed) const;
  // The content of the map that agents read, as last written; empty where there is none.
  MapContent written_content() const;
  std::optional<cluster::ConfigMap> find_map(const std::string& name) const;
  Result<void> write_map(const MapContent& wanted, const std::stop_token& stop);
  void warn_of_foreign_keys(const MapContent& wanted, const MapContent& after) const;
  Result<void> report(const cluster::Object& policy, const PolicyStatus& status,
                      const std::stop_token& stop);
  void tell(const cluster::Object& policy, const Condition& outcome, const std::stop_token& stop);
  Result<cluster::Call> call(const std::stop_token& stop) const;

  cluster::Objects& objects_;
  const Options options_;
  const Clock& clock_;
  const Log& log_;
  process::ChangeNotifier notifier_;
  // Of the retrier's thread: what the last write of the ConfigMap was to make, and made; the
  // outcome told last, by the policy's uid.
  struct Written {
    std::string version;  // that it changed; "" where there was none
    MapContent wanted;
    MapContent after;
  };
  std::optional<Written> written_;
  std::map<std::string, Condition> told_;
  cluster::EventRecorder events_;
  cluster::WatchCache policies_;
  cluster::WatchCache maps_;
  cluster::WatchCache daemon_sets_;
  // Last: its thread reads the caches.
  std::optional<Retrier> retrier_;
};

// `options.time_left` is the worker's context's.
WorkerPlan plan_policy(PolicyController::Options options);

}  // namespace tranche::controller
