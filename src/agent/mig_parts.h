#pragma once
// What the manager of MIG layouts uses outside the agent: NVML, nvidia-smi and the Node. Wiring:
// built once, from the flags.

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

namespace tranche::agent {

class MigParts {
 public:
  // The references outlive it.
  MigParts(const std::shared_ptr<nvml::Connection>& connection, ClusterNode& node,
           const config::Sources& sources, const config::AgentOptions& options, const Clock& clock,
           const Log& log);

  MigPorts ports();

 private:
  // Lets go of NVML before the GPU is reset.
  class Reset final : public gpu::GpuReset {
   public:
    Reset(std::shared_ptr<nvml::Connection> connection, host::GpuReset::Options options)
        : connection_(std::move(connection)), program_(std::move(options)) {}
    Result<void> reset(const gpu::PciAddress& gpu) override;

   private:
    std::shared_ptr<nvml::Connection> connection_;
    host::GpuReset program_;
  };

  std::vector<std::string> users_of(const gpu::Gpu& gpu) const;

  nvml::MigControl control_;
  Reset reset_;
  NodeView& node_;
  NodeWriter writer_;
  FsRoot host_;
};

}  // namespace tranche::agent
