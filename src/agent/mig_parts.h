#pragma once
// What the manager of MIG layouts uses outside the agent: NVML, nvidia-smi and the Node. Wiring:
// built once, from the flags.

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent/config/cluster_node.h"
#include "agent/followers.h"
#include "agent/node/node_writer.h"
#include "config/flags/sources.h"
#include "config/programs/agent_options.h"
#include "host/gpu_reset.h"
#include "nvml/mig_control.h"
#include "nvml/quiet_reset.h"

namespace tranche::agent {

class MigParts {
 public:
  // The references outlive it.
  MigParts(const std::shared_ptr<nvml::Connection>& connection, ClusterNode& node,
           const config::Sources& sources, const config::AgentOptions& options, const Clock& clock,
           const Log& log);

  MigPorts ports();

 private:
  std::vector<std::string> users_of(const gpu::Gpu& gpu) const;

  nvml::MigControl control_;
  host::GpuReset program_;
  nvml::QuietReset reset_;
  NodeView& node_;
  NodeWriter writer_;
  FsRoot host_;
  std::filesystem::path driver_lock_;
};

}  // namespace tranche::agent
