#pragma once
// Makes the cluster's ClusterPolicy take effect. It watches policies, the namespace's ConfigMaps,
// the operator's DaemonSets and the agents' own. On each change it decides (policy_map.h), writes
// the agents' ConfigMap and the policies' status, and records an Event if the outcome changed.
// Nodes that report that they do not serve (serving_nodes.h) affect only the status.
//
// Nothing is written before all of these have been read. A failed write is retried until it
// succeeds, and logged once.

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
  // Only on the queue's thread.
  Result<void> reconcile(const std::stop_token& stop);
  Policies policies() const;
  PolicyFacts facts(const Policies& policies, const PolicyObject* obeyed) const;
  // Fills facts.not_serving. On an error it is unknown whose agents are ready, so every node that
  // reports not to serve counts.
  Result<void> look_at_nodes(PolicyFacts& facts, const std::stop_token& stop);
  // The agents' ConfigMap as last written; empty if there is none.
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
  // Used by the queue's thread only. `written_`: the intended and the actual content of the last
  // write of the ConfigMap. `told_`: the outcome reported last, by the policy's uid.
  struct Written {
    std::string version;  // the version that the write replaced; "": none
    MapContent wanted;
    MapContent after;
  };
  std::optional<Written> written_;
  std::map<std::string, Condition> told_;
  cluster::EventRecorder events_;
  WorkQueue queue_;
  // Last: their threads use the queue.
  Watch policies_;
  Watch maps_;
  Watch daemon_sets_;
  std::optional<Watch> agents_;        // of the agents' DaemonSet; nullopt: its name is not set
  std::optional<ServingNodes> nodes_;  // nullopt: as above
};

std::optional<WorkerPlan> plan_policy(const config::ControllerOptions& options);

}  // namespace tranche::controller
