#pragma once
// Implements gpu::GpuReset by the driver's own program: `nvidia-smi --gpu-reset -i GPU`. NVML has
// no such call. The caller must have released the GPU, including this process's NVML session.
// Persistence mode counts as a user of the GPU too.

#include <chrono>
#include <filesystem>
#include <map>
#include <string>

#include "gpu/mig_control.h"
#include "host/child.h"

namespace tranche::host {

class GpuReset final : public gpu::GpuReset {
 public:
  struct Options {
    // The program's environment. PATH is searched for it first.
    std::map<std::string, std::string> environment = {};
    // The driver's root as this process sees it; empty: none.
    std::filesystem::path driver_root = {};
    std::chrono::milliseconds limit = std::chrono::minutes(2);
  };

  explicit GpuReset(Options options) : options_(std::move(options)) {}

  Result<void> reset(const gpu::PciAddress& gpu) override;

 private:
  Options options_;
};

// Interprets the program's result; codes: see gpu/mig_control.h. The texts are those of drivers 450
// to 595.
Result<void> judge_reset(const ChildEnd& end);

}  // namespace tranche::host
