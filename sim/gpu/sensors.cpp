#include "sim/gpu/sensors.h"

#include "sim/gpu/busy_time.h"
#include "sim/gpu/utilisation.h"

namespace tranche::sim {
namespace {

constexpr std::uint32_t kAmpere = 7;

// Above the idle power, at full load.
std::uint64_t dynamic_mw(const Model& model) {
  return std::uint64_t{model.power_limit_mw - model.idle_power_mw} * 9 / 10;
}

// The product holds for most of a year.
std::uint64_t millijoules(std::uint64_t mw, std::uint64_t ns) {
  return mw * (ns / 1000) / 1'000'000;
}

}  // namespace

std::uint32_t load_permille(const Simulation& sim, std::uint32_t gpu) {
  return window_load(sim, gpu, last_window(sim, gpu)).permille;
}

std::uint32_t power_mw(const Model& model, std::uint32_t permille) {
  return model.idle_power_mw + static_cast<std::uint32_t>(dynamic_mw(model) * permille / 1000);
}

std::uint64_t energy_mj(const Simulation& sim, std::uint32_t gpu) {
  const Gpu& hardware = sim.state().gpus[gpu];
  const Model& model = sim.state().models[hardware.model];
  const BusyTime time = busy_time(sim, gpu);
  return millijoules(model.idle_power_mw, time.until_ns - hardware.began_ns) +
         millijoules(dynamic_mw(model), time.busy_ns);
}

std::uint32_t gpu_temperature(std::uint32_t permille) { return 33 + permille * 34 / 1000; }

std::uint32_t memory_temperature(std::uint32_t permille) { return gpu_temperature(permille) + 6; }

// P100, V100, A100 and A30, H100 and its kin, B200: the large chip of each generation, whose
// compute capability is a whole number; and B300 (10.3).
bool has_memory_sensor(const Model& model) {
  constexpr std::uint32_t kFirst = 6;
  constexpr std::uint32_t kLast = 10;
  if (model.cc_major < kFirst || model.cc_major > kLast) return false;
  return model.cc_minor == 0 || model.cc_major == kLast;
}

bool tells_remapped_rows(const Model& model, const Gpu& gpu) {
  return model.architecture >= kAmpere && model.ecc != 0 && gpu.mig_current.load() == 0;
}

}  // namespace tranche::sim
