// nvidia-smi --gpu-reset: NVML has no call for it. The real program asks the driver itself, this
// one the machine's state.

#include <memory>

#include "fmt/format.h"
#include "sim/gpu/mig.h"
#include "sim/smi/smi.h"
#include "sim/state/faults.h"

namespace tranche::sim::smi {
namespace {

// Exit codes that are not NVML's.
constexpr int kNotReset = 255;

// A fault of this name strikes it.
constexpr const char* kFunction = "gpu-reset";

nvmlReturn_t reset_one(const Simulation& sim, std::uint32_t index) {
  std::uint32_t done = 0;
  if (const auto fault = meet_faults(sim, kFunction, index, &done); fault != 0) {
    return static_cast<nvmlReturn_t>(fault);
  }
  Gpu& gpu = sim.state().gpus[index];
  if (gpu.no_reset != 0) return NVML_ERROR_NOT_SUPPORTED;
  {
    const Simulation::Guard guard(sim.state());
    if (!reset_gpu(sim, gpu, Users::kAll)) return NVML_ERROR_IN_USE;
  }
  post_event(sim, {.type = nvmlEventMigConfigChange, .gpu = index});
  return static_cast<nvmlReturn_t>(done);
}

}  // namespace

int reset_gpus(const std::vector<GpuRow>& rows) {
  const auto sim = Simulation::open(options_from_environment());
  if (!sim) {
    fmt::print("{}\n", sim.error().message());
    return 1;
  }
  std::string refused;
  int busy = 0;
  for (const GpuRow& row : rows) {
    const Gpu* const gpu = find_gpu((*sim)->state(), row.device);
    if (gpu == nullptr) continue;
    const auto index = static_cast<std::uint32_t>(gpu - (*sim)->state().gpus);
    const nvmlReturn_t code = reset_one(**sim, index);
    if (code == NVML_SUCCESS) {
      fmt::print("GPU {} was successfully reset.\n", bus_id(row.device));
      continue;
    }
    if (code == NVML_ERROR_NOT_SUPPORTED) {
      fmt::print("Resetting GPU {} is not supported.\n", bus_id(row.device));
      return NVML_ERROR_NOT_SUPPORTED;
    }
    busy += code == NVML_ERROR_IN_USE ? 1 : 0;
    refused += fmt::format("  GPU {}: {}\n", bus_id(row.device), nvml_text(code));
  }
  if (refused.empty()) {
    fmt::print("All done.\n");
    return 0;
  }
  fmt::print("The following GPUs could not be reset:\n{}\n", refused);
  if (busy > 0) {
    fmt::print(
        "{} device{} currently being used by one or more other processes (e.g., Fabric Manager, "
        "CUDA application, graphics application such as an X server, or a monitoring application "
        "such as another instance of nvidia-smi). Please first kill all processes using this "
        "device and all compute applications running in the system.\n",
        busy, busy == 1 ? " is" : "s are");
  }
  return kNotReset;
}

}  // namespace tranche::sim::smi
