// nvidia-smi compute-policy: how long the time slices are in which contexts take turns.

#include <array>
#include <memory>

#include "fmt/format.h"
#include "sim/machine/read_number.h"
#include "sim/smi/smi.h"
#include "sim/state/simulation.h"

namespace tranche::sim::smi {
namespace {

constexpr std::array<const char*, 4> kNames = {"Default", "Short", "Medium", "Long"};

// `visit` takes the GPU and its bus id. The exit code.
template <class Visit>
int for_each(const std::vector<GpuRow>& rows, Visit visit) {
  const auto sim = Simulation::open(options_from_environment());
  if (!sim) {
    fmt::print("{}\n", sim.error().message());
    return 1;
  }
  for (const GpuRow& row : rows) {
    Gpu* const gpu = find_gpu((*sim)->state(), row.device);
    if (gpu != nullptr) visit(*gpu, bus_id(row.device));
  }
  return 0;
}

}  // namespace

Gpu* find_gpu(State& state, nvmlDevice_t device) {
  const auto uuid = device_text("nvmlDeviceGetUUID", device);
  for (std::uint32_t i = 0; uuid && i < state.gpu_count; ++i) {
    if (*uuid == state.gpus[i].uuid) return &state.gpus[i];
  }
  return nullptr;
}

int list_time_slices(const std::vector<GpuRow>& rows) {
  return for_each(rows, [](const Gpu& gpu, const std::string& bus) {
    fmt::print("GPU {}: timeslice {}\n", bus, kNames[gpu.time_slice.load() % kNames.size()]);
  });
}

int set_time_slice(const std::string& wanted, const std::vector<GpuRow>& rows) {
  const auto value = read_number<unsigned>(wanted);
  if (!value || *value >= kNames.size()) {
    fmt::print("Invalid timeslice '{}': 0 to 3.\n", wanted);
    return 1;
  }
  return for_each(rows, [&](Gpu& gpu, const std::string& bus) {
    gpu.time_slice.store(*value);
    fmt::print("Set timeslice to {} for GPU {}.\n", kNames[*value], bus);
  });
}

}  // namespace tranche::sim::smi
