#pragma once
// The agent's lists: the inputs that look at the node, the stages that make an offer, and the
// followers that act on it. A new part of the agent (metrics) is a folder of its
// own and a line here.

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/dra/claim_service.h"
#include "agent/health/gpu_health.h"
#include "agent/holdings/book.h"
#include "agent/labels/label_sink.h"
#include "agent/limits/finding_notices.h"
#include "agent/limits/limit_overrides.h"
#include "agent/limits/tenant_manager.h"
#include "agent/loop/follower.h"
#include "agent/loop/stage.h"
#include "agent/mig/mig_manager.h"
#include "agent/node/node_reporter.h"
#include "agent/plugins/grant_store.h"
#include "agent/plugins/plugin_follower.h"
#include "agent/serving/kubelet_asker.h"
#include "agent/serving/serving_follower.h"
#include "cluster/pod_resources.h"
#include "config/programs/agent_options.h"
#include "process/loop.h"

namespace tranche::agent {

// The driver and the Node, for the manager of MIG layouts (agent/mig/mig_manager.h).
struct MigPorts {
  gpu::MigControl& control;
  gpu::GpuReset& reset;
  std::function<Result<cluster::Node>()> node;
  std::function<bool(const NodeWriter::Change&, const cluster::Call&)> write;
  std::function<std::string()> boot;
  std::function<std::optional<std::vector<cluster::Pod>>()> pods = {};
  std::function<mig::DeviceUsers(const gpu::Gpu& gpu, std::optional<int> instance)> users = {};
  // Has this node's other programs of ours let go of the GPUs, for as long as the result is held.
  std::function<Result<std::shared_ptr<void>>(const MigQuiet&, const std::stop_token&)> quiet = {};
  std::function<void()> read_hardware = {};  // the agent sets it
};

// The API server and the Node, for the driver of claims (agent/dra/claim_service.h).
struct ClaimPorts {
  cluster::Objects& objects;
  std::function<Result<cluster::Node>()> node;
  std::string boot;
  // As of ClaimPreparer.
  std::function<std::optional<cluster::Pod>(const std::string& uid)> pod = {};
  // nullopt: no MIG instances are made for claims. `changed`: the agent sets it.
  std::optional<InstanceMaker::Ports> instances = {};
};

// The followers' ports to the outside. All outlive the followers.
struct FollowerPorts {
  cluster::PodResources& pod_resources;
  HolderAnswers& holders;
  Book& book;  // nothing is in it yet
  PluginFollower::Register register_plugin;
  // These are empty without a cluster; then nothing is reported to one.
  LabelSink* labels = nullptr;  // null: the file
  std::function<void(const NodeNotice&)> tell = {};
  std::function<void(EvictPolicy)> evict = {};
  LimitOverrides* overrides = nullptr;  // null: limits are never overridden
  // Told again and again, from any thread, what a condition of the Node shall say.
  std::function<void(const ConditionReport&)> report_condition = {};
  // Told which devices are unhealthy whenever that changes.
  std::function<void(const UnhealthyDevices&)> tell_health = {};
  // The Node's label nvidia.com/mig.config, "" where it has none; nullopt: not known yet.
  std::function<std::optional<std::string>()> mig_config = {};
  // What the manager of MIG layouts needs of the driver and of the Node. nullopt: nobody manages
  // them here.
  std::optional<MigPorts> mig = {};
  // nullopt: nobody serves claims here.
  std::optional<ClaimPorts> claims = {};
  // Run behind the agent's own followers, in this order.
  std::vector<std::unique_ptr<Follower>> more = {};
};

// The stages that run after offer::make_offer, in order.
std::vector<Stage> stages();

class Followers {
 public:
  // Restores the grants before anything is registered. `look_again`: has the loop make an offer
  // anew; from any thread. `writers`: of the stored grants. The references outlive it.
  Followers(FollowerPorts ports, const config::AgentOptions& options, process::Loop& loop,
            const std::function<void()>& look_again, const Clock& clock, const Log& log,
            GrantStore::Writers writers = GrantStore::Writers::kThis);

  const std::vector<std::unique_ptr<Input>>& inputs() const { return inputs_; }
  const std::vector<std::unique_ptr<Follower>>& all() const { return followers_; }

  // PluginFollower::inherit().
  void inherit(std::vector<process::NamedDescriptor> connections, std::function<void()> served) {
    plugins_->inherit(std::move(connections), std::move(served));
  }
  // The agent that has handed over has ended. An error: what it granted cannot be read.
  Result<void> predecessor_ended();
  // Hands over: nothing is done but to answer kubelet. Returns kubelet's connections.
  std::vector<process::NamedDescriptor> rest();

 private:
  // null: nothing is registered, so nothing can be served otherwise.
  std::unique_ptr<ServingFollower> follow_serving(PluginFollower& plugins,
                                                  const FollowerPorts& ports, bool take_over,
                                                  process::Loop& loop, const Clock& clock,
                                                  const Log& log);
  void manage_mig(const FollowerPorts& ports, const config::AgentOptions& options,
                  const std::function<void()>& look_again,
                  const std::function<void()>& renew_checkpoint, const Clock& clock,
                  const Log& log);
  void serve_claims(FollowerPorts& ports, const config::AgentOptions& options,
                    const std::function<void()>& look_again, const Clock& clock, const Log& log);
  void open_grants(const config::AgentOptions& options, const Clock& clock, const Log& log,
                   GrantStore::Writers writers);

  std::unique_ptr<GrantStore> grants_;    // null: the stored grants cannot be read
  std::optional<TenantManager> tenants_;  // set when grants_ is
  Book& book_;
  std::optional<MigManager> mig_;  // nullopt: nobody manages MIG layouts here
  std::optional<InstanceMaker> instances_;
  std::optional<ClaimService> claims_;  // nullopt: nobody serves claims here
  std::vector<std::unique_ptr<Input>> inputs_;
  PluginFollower* plugins_ = nullptr;                 // one of those below
  std::vector<std::unique_ptr<Follower>> followers_;  // they refer to the others
  std::optional<KubeletAsker> kubelet_;               // last: its thread answers to a follower
};

}  // namespace tranche::agent
