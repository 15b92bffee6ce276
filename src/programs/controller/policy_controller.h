#pragma once
// Makes the cluster's ClusterPolicy take effect. It watches policies, the namespace's ConfigMaps,
// the operator's DaemonSets and the agents' one. Whenever one changes, it decides (policy_map.h),
// writes the ConfigMap that the agents follow and the policies' status, and records an Event if the
// outcome changed. What the agents' nodes say of their serving (serving_nodes.h) goes into the
// status alone.
//
// Nothing is written before all of these have been read. A failed write is retried until it works,
// and logged once.
//
// Works through the port cluster::Objects. The watches' threads only notify, the queue's does the
// work. The destructor stops it.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cluster/client/event_recorder.h"
#include "controller/policy_map.h"
#include "controller/policy_status.h"
#include "controller/serving_nodes.h"
#include "controller/work_queue.h"
#include "controller/worker.h"

namespace tranche::controller {

class PolicyController : public Worker {
 public:
  struct Options {
    std::string ns;
    std::string out_name;
    std::string mps_root = {};  // PolicyFacts::mps_root
    std::string agents = {};    // PolicyFacts::agents_name, in `ns`
  };

  PolicyController(const WorkerContext& context, Options options);
  ~PolicyController() override;
  PolicyController(const PolicyController&) = delete;
  PolicyController& operator=(const PolicyController&) = delete;

  std::optional<std::string> trouble() const override;

 private:
  struct Policies {
    std::vector<cluster::Object> objects;
    std::vector<PolicyObject> parsed;  // one for each of `objects`, in the same order
  };

  std::vector<const Watch*> caches() const;
  // Makes one full attempt, on the queue's thread.
  Result<void> reconcile(const std::stop_token& stop);
  Policies policies() const;
  PolicyFacts facts(const Policies& policies, const PolicyObject* obeyed) const;
  // Fills facts.not_serving. An error: nobody knows whose agents are ready, so all that say so
  // count.
  Result<void> look_at_nodes(PolicyFacts& facts, const std::stop_token& stop);
  // The content of the agents' ConfigMap as last written; empty if there is none.
  MapContent written_content() const;
  std::optional<cluster::ConfigMap> find_map(const std::string& name) const;
  Result<void> write_map(const MapContent& wanted, const std::stop_token& stop);
  void warn_of_foreign_keys(const MapContent& wanted, const MapContent& after) const;
  Result<void> report(const cluster::Object& policy, const PolicyStatus& status,
                      const std::stop_token& stop);
  void tell(const cluster::Object& policy, const Condition& outcome, const std::stop_token& stop);
  Result<cluster::Call> call(const std::stop_token& stop) const;

  const WorkerContext context_;
  const Options options_;
  // Used by the queue's thread only. `written_`: what the last write of the ConfigMap was to
  // make, and what it made. `told_`: the outcome reported last, by the policy's uid.
  struct Written {
    std::string version;  // the version that the write replaced; "": there was none
    MapContent wanted;
    MapContent after;
  };
  std::optional<Written> written_;
  std::map<std::string, Condition> told_;
  cluster::EventRecorder events_;
  WorkQueue queue_;
  // Last: their threads ask the queue.
  Watch policies_;
  Watch maps_;
  Watch daemon_sets_;
  std::optional<Watch> agents_;        // of one DaemonSet; nullopt: it is not told which
  std::optional<ServingNodes> nodes_;  // nullopt: the same
};

std::optional<WorkerPlan> plan_policy(const config::ControllerOptions& options);

}  // namespace tranche::controller
