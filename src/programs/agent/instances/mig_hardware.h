#pragma once
// What a change of this machine's MIG layout works on, for the agent and `tranche layout apply`:
// NVML, nvidia-smi for resets, who has a GPU open, and how this node's other programs make way.

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>

#include "base/fs.h"
#include "base/result.h"
#include "gpu/machine.h"
#include "host/gpu_reset.h"
#include "host/holder_names.h"
#include "mig/hardware.h"
#include "nvml/connection.h"
#include "nvml/mig_control.h"
#include "nvml/quiet_reset.h"
#include "nvml/reader.h"

namespace tranche::agent {

class MigHardware {
 public:
  struct Options {
    std::map<std::string, std::string> environment;  // for nvidia-smi
    std::filesystem::path host_root;
    std::filesystem::path state_dir;
    std::filesystem::path mps_dir;  // the MPS control daemons' folder
    host::PodNameOf pod_name = {};  // empty: Pods are named by their uids
  };
  MigHardware(const std::shared_ptr<nvml::Connection>& connection, Options options);

  gpu::MigControl& control() { return control_; }
  gpu::GpuReset& reset() { return reset_; }
  // Reads the machine. From any thread, one after the other.
  Result<gpu::Machine> read();
  // Who has the GPU, or this GPU instance of it, open.
  mig::DeviceUsers users_of(const gpu::Gpu& gpu, std::optional<int> instance) const;
  // While the result is held, no MPS control daemon has one of `gpus` (UUIDs); with `reset` the
  // arbiter has closed the driver, too. kTimeout: one of them does not make way.
  Result<std::shared_ptr<void>> quiet(const std::set<std::string>& gpus, bool reset,
                                      const std::stop_token& stop) const;

  // For a change of `gpus`. `machine` and this outlive it.
  mig::Hardware of(const gpu::Machine& machine, std::set<std::string> gpus);

 private:
  const Options options_;
  nvml::MigControl control_;
  host::GpuReset program_;
  nvml::QuietReset reset_;
  FsRoot host_;
  std::mutex reading_;
  nvml::Reader reader_;  // guarded by reading_
};

}  // namespace tranche::agent
