#pragma once
// The agent's lists: which inputs look at the node, which stages make an offer, who follows it.
// What comes next to the agent (MIG layouts, DRA, metrics) is a folder of its own and a line here.

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "agent/labels/label_sink.h"
#include "agent/limits/finding_notices.h"
#include "agent/limits/limit_overrides.h"
#include "agent/limits/tenant_manager.h"
#include "agent/loop/follower.h"
#include "agent/loop/stage.h"
#include "agent/node/node_reporter.h"
#include "agent/plugins/grant_store.h"
#include "agent/plugins/plugin_follower.h"
#include "cluster/pod_resources.h"
#include "config/programs/agent_options.h"
#include "process/loop.h"

namespace tranche::agent {

// The outside of followers; all outlive them.
struct FollowerPorts {
  cluster::PodResources& pod_resources;
  PluginFollower::Register register_plugin;
  // Of a cluster; without one: null, and nobody is told.
  LabelSink* labels = nullptr;  // null: the file
  std::function<void(const NodeNotice&)> tell = {};
  std::function<void(EvictPolicy)> evict = {};
  LimitOverrides* overrides = nullptr;  // null: nothing is set by anybody
  // Behind the agent's own, in this order.
  std::vector<std::unique_ptr<Follower>> more = {};
};

// The stages behind the first, which is offer::make_offer.
std::vector<Stage> stages();

class Followers {
 public:
  // Restores the grants, before anything is registered. The references outlive it.
  Followers(FollowerPorts ports, const config::AgentOptions& options, process::Loop& loop,
            const Clock& clock, const Log& log);

  const std::vector<std::unique_ptr<Input>>& inputs() const { return inputs_; }
  const std::vector<std::unique_ptr<Follower>>& all() const { return followers_; }

 private:
  void open_grants(const config::AgentOptions& options, const Clock& clock, const Log& log);

  std::unique_ptr<GrantStore> grants_;    // null: the state folder cannot be used
  std::optional<TenantManager> tenants_;  // with grants_
  std::vector<std::unique_ptr<Input>> inputs_;
  std::vector<std::unique_ptr<Follower>> followers_;  // last: they refer to the others
};

}  // namespace tranche::agent
