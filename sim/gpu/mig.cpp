#include "sim/gpu/mig.h"

#include <algorithm>

#include "fmt/format.h"
#include "sim/gpu/uses.h"
#include "sim/machine/identity.h"

namespace tranche::sim {
namespace {

bool has_instances(const Gpu& gpu) {
  return std::ranges::any_of(gpu.instances, [](const GpuInstance& i) { return is_used(i); });
}

bool gpu_in_use(const Simulation& sim, const Gpu& gpu, Users users) {
  const auto index = static_cast<std::uint32_t>(&gpu - sim.state().gpus);
  if (!live_uses(sim, index).empty()) return true;
  return users == Users::kAll && is_open_elsewhere(sim, index);
}

Result<void> in_use(std::string what) {
  return fail(Code::kFailedPrecondition, std::move(what), "end the processes on it first");
}

void drop_instances(Gpu& gpu) {
  for (GpuInstance& instance : gpu.instances) {
    for (ComputeInstance& compute : instance.compute) compute.used.store(0);
    instance.used.store(0);
  }
}

void apply_pending_mode(Gpu& gpu) {
  if (gpu.mig_current.load() == gpu.mig_pending.load()) return;
  drop_instances(gpu);
  gpu.mig_current.store(gpu.mig_pending.load());
  gpu.compute_mode.store(0);
}

}  // namespace

std::vector<MigDevice> mig_devices(const Gpu& gpu) {
  std::vector<MigDevice> devices;
  if (gpu.mig_current.load(std::memory_order_acquire) == 0) return devices;
  for (std::uint32_t g = 0; g < kMaxGpuInstances; ++g) {
    if (!is_used(gpu.instances[g])) continue;
    for (std::uint32_t c = 0; c < kMaxComputeInstances; ++c) {
      if (is_used(gpu.instances[g].compute[c])) devices.push_back({g, c});
    }
  }
  return devices;
}

std::string mig_uuid(const Gpu& gpu, MigDevice device) {
  return "MIG-" +
         make_uuid(fmt::format("{}/{}/{}", gpu.uuid, device.gpu_instance, device.compute_instance));
}

std::string mig_profile_name(const State& state, const Gpu& gpu, MigDevice device) {
  const GpuInstance& instance = gpu.instances[device.gpu_instance];
  const Profile& profile = profile_of(state, gpu, instance);
  const std::uint32_t slices = instance.compute[device.compute_instance].slices;
  if (slices == profile.slices) return profile.name;
  return fmt::format("{}c.{}", slices, profile.name);
}

std::uint32_t compute_sm(const Profile& profile, std::uint32_t slices) {
  return profile.sm * slices / profile.slices;
}

Result<void> destroy_compute_instance(const Simulation& sim, Gpu& gpu, MigDevice device) {
  if (device.gpu_instance >= kMaxGpuInstances || device.compute_instance >= kMaxComputeInstances ||
      !is_used(gpu.instances[device.gpu_instance]) ||
      !is_used(gpu.instances[device.gpu_instance].compute[device.compute_instance])) {
    return fail(Code::kNotFound, fmt::format("no compute instance {} in GPU instance {}",
                                             device.compute_instance, device.gpu_instance));
  }
  const auto index = static_cast<std::uint32_t>(&gpu - sim.state().gpus);
  const bool busy = std::ranges::any_of(live_uses(sim, index), [&](const LiveUse& live) {
    return live.use->gpu_instance == device.gpu_instance &&
           live.use->compute_instance == device.compute_instance;
  });
  if (busy) {
    return in_use(fmt::format("compute instance {} of GPU instance {} is in use",
                              device.compute_instance, device.gpu_instance));
  }
  gpu.instances[device.gpu_instance].compute[device.compute_instance].used.store(
      0, std::memory_order_release);
  return {};
}

Result<void> set_mig_mode(const Simulation& sim, Gpu& gpu, bool on, Users users) {
  const Model& model = sim.state().models[gpu.model];
  if (model.profile_count == 0) {
    return fail(Code::kNotFound, fmt::format("{} has no MIG", model.name));
  }
  const std::uint32_t mode = on ? 1 : 0;
  gpu.mig_pending.store(mode);
  if (gpu.mig_current.load() == mode) return {};
  const Users counted = model.mig_needs_reset != 0 ? users : Users::kThatCompute;
  if (gpu_in_use(sim, gpu, counted)) return in_use(fmt::format("{} is in use", gpu.uuid));
  if (has_instances(gpu)) {
    return fail(Code::kFailedPrecondition, fmt::format("{} holds MIG instances", gpu.uuid),
                "destroy them first");
  }
  if (model.mig_needs_reset != 0 && gpu.no_reset != 0) {
    return fail(Code::kUnsupported, fmt::format("{} cannot be reset in this machine", gpu.uuid),
                "reboot the machine: tranche-sim reset --reboot");
  }
  apply_pending_mode(gpu);
  return {};
}

Result<void> reset_gpu(const Simulation& sim, Gpu& gpu, Users users) {
  if (gpu_in_use(sim, gpu, users)) return in_use(fmt::format("{} is in use", gpu.uuid));
  drop_instances(gpu);
  gpu.mig_current.store(gpu.mig_pending.load());
  gpu.compute_mode.store(0);
  gpu.recovery_action.store(0);
  gpu.last_xid.store(0);
  gpu.presence.store(static_cast<std::uint32_t>(Presence::kPresent));
  return {};
}

Result<void> reboot_gpu(const Simulation& sim, Gpu& gpu) {
  TRY(reset_gpu(sim, gpu));
  if (sim.state().models[gpu.model].mig_needs_reset != 0) return {};
  gpu.mig_current.store(0);
  gpu.mig_pending.store(0);
  return {};
}

}  // namespace tranche::sim
