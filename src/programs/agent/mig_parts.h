#pragma once
// What changes of MIG instances use outside the agent, the manager's of MIG layouts and those for
// claims: NVML, nvidia-smi and the Node. Wiring: built once, from the flags.

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/config/cluster_node.h"
#include "agent/followers.h"
#include "agent/mig_hardware.h"
#include "agent/node/node_writer.h"
#include "agent/node/pods_of_node.h"
#include "config/flags/sources.h"
#include "config/programs/agent_options.h"
#include "host/process.h"
#include "nvml/reader.h"

namespace tranche::agent {

class MigParts {
 public:
  // The references outlive it. `pods`: null where nobody watches this node's Pods yet.
  MigParts(const std::shared_ptr<nvml::Connection>& connection, ClusterNode& node, PodsOfNode* pods,
           const config::Sources& sources, const config::AgentOptions& options, const Clock& clock,
           const Log& log);

  MigPorts ports();
  // For instances that are made for claims.
  InstanceMaker::Ports instance_ports();

 private:
  Result<gpu::Machine> read();
  std::optional<std::vector<cluster::Pod>> pods();
  // "shop/train"; "": not known.
  std::string pod_name(const host::PodProcess& process) const;

  MigHardware hardware_;
  std::mutex reading_;
  nvml::Reader reader_;  // guarded by reading_
  const Clock& clock_;
  const Log& log_;
  NodeView& node_;
  NodeWriter writer_;
  FsRoot host_;
  std::optional<PodsOfNode> own_pods_;
  PodsOfNode& pods_;
};

}  // namespace tranche::agent
