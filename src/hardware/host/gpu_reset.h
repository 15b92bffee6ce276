#pragma once
// gpu::GpuReset by the driver's own program: `nvidia-smi --gpu-reset -i GPU`. NVML has no such
// call. Whoever calls it must have let go of the GPU, NVML's session of this process included.
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
    // Environment of the program. PATH is where it is looked for first.
    std::map<std::string, std::string> environment = {};
    // The driver's root as this process sees it; empty: there is none.
    std::filesystem::path driver_root = {};
    std::chrono::milliseconds limit = std::chrono::minutes(2);
  };

  explicit GpuReset(Options options) : options_(std::move(options)) {}

  Result<void> reset(const gpu::PciAddress& gpu) override;

 private:
  Options options_;
};

// What the program's end means; codes as in gpu/mig_control.h. Texts are those that drivers 450 to
// 595 print.
Result<void> judge_reset(const ChildEnd& end);

}  // namespace tranche::host
