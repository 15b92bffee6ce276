#include "agent/instances/instance_maker.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace tranche::agent {
namespace {

auto at(const dra::MigPlace& place) {
  return [&place](const auto& instance) {
    return instance.profile_id == place.profile_id && instance.placement == place.at;
  };
}

// A whole GPU instance as one MIG device.
Result<mig::Instance> whole_instance(const dra::MigPlace& place, const gpu::Gpu& gpu) {
  const auto* profile = gpu.mig_geometry.find(place.profile_id);
  if (profile == nullptr) {
    return fail(Code::kInvalidArgument, fmt::format("{} has no profile {}; a driver of another "
                                                    "version?",
                                                    gpu.name, place.profile_id));
  }
  return mig::Instance{
      .profile_id = place.profile_id, .placement = place.at, .compute = {profile->compute_slices}};
}

std::optional<std::string> uuid_at(const dra::MigPlace& place, const gpu::MigState& state,
                                   const gpu::Gpu& gpu) {
  const auto instance = std::ranges::find_if(state.instances, at(place));
  if (instance == state.instances.end()) return std::nullopt;
  const auto device =
      std::ranges::find(gpu.mig_instances, instance->id, &gpu::MigInstance::gpu_instance_id);
  if (device == gpu.mig_instances.end()) return std::nullopt;
  return device->uuid.value;
}

// Keeps a mode that somebody set for the next reset, unless it is this one.
void turn(bool enabled, mig::GpuLayout& layout) {
  layout.waits = layout.waits && layout.enabled == enabled;
  layout.enabled = enabled;
}

}  // namespace

bool InstanceMaker::can_cut(const gpu::Gpu& gpu) {
  return !gpu.mig_geometry.empty() && (gpu.mig_enabled() || !mig::mode_needs_reset(gpu));
}

// Calls nothing that changes something if nothing differs.
Result<void> InstanceMaker::change(const gpu::GpuUuid& uuid, const gpu::Machine& machine,
                                   const Change& change) {
  const auto* gpu = gpu::find_gpu(machine, uuid);
  if (gpu == nullptr) {
    return fail(Code::kNotFound, fmt::format("{} is not on this node any more", uuid.value));
  }
  ASSIGN_OR_RETURN(auto layout, mig::read_layout(ports_.control, {uuid}));
  const auto before = layout;
  TRY(change(layout.at(uuid)));
  if (layout == before) return {};
  const mig::Hardware hardware{
      .control = ports_.control,
      .reset = ports_.reset,
      .machine = machine,
      .users = ports_.users,
      .quiet = [this, gpu](bool, const std::stop_token& stop) { return ports_.quiet(*gpu, stop); }};
  const mig::Watcher watcher{.step = [this, gpu](const mig::Step& step, std::size_t, std::size_t) {
    ports_.log.info("for a claim: " + mig::describe(step, gpu->mig_geometry, gpu->index));
  }};
  auto applied = mig::apply(layout, hardware, watcher, ports_.clock.now() + kLongest, ports_.clock,
                            {}, retries_);
  if (!applied) take_back_mode(uuid, before.at(uuid));
  if (ports_.changed) ports_.changed();
  return applied;
}

// Otherwise a mode of this change that is not in force would come as a surprise at the next reset.
void InstanceMaker::take_back_mode(const gpu::GpuUuid& uuid, const mig::GpuLayout& before) {
  const auto state = ports_.control.read(uuid);
  if (!state || before.waits || !mig::layout_of(*state).waits) return;
  if (auto done = ports_.control.set_mode(uuid, state->enabled); !done) {
    ports_.log.warn(done.error());
  }
}

Result<void> InstanceMaker::make(const dra::MigPlace& place, const gpu::Machine& machine) {
  return change(place.gpu, machine, [&](mig::GpuLayout& layout) -> Result<void> {
    const auto& gpu = *gpu::find_gpu(machine, place.gpu);
    ASSIGN_OR_RETURN(auto wanted, whole_instance(place, gpu));
    if (!layout.enabled && mig::mode_needs_reset(gpu)) {
      return fail(
          Code::kFailedPrecondition,
          fmt::format("MIG mode of GPU {} is off, and needs a reset to go on", gpu.index),
          fmt::format("drain the node, `nvidia-smi -i {} -mig 1`, and reset the GPU", gpu.index));
    }
    turn(true, layout);
    const auto there = std::ranges::find_if(layout.instances, at(place));
    if (there != layout.instances.end()) {
      *there = std::move(wanted);  // its compute instance may be missing
      return {};
    }
    const auto behind =
        std::ranges::upper_bound(layout.instances, place.at, {}, &mig::Instance::placement);
    layout.instances.insert(behind, std::move(wanted));
    return {};
  });
}

Result<void> InstanceMaker::remove(const dra::MigPlace& place, const gpu::Machine& machine) {
  return change(place.gpu, machine, [&](mig::GpuLayout& layout) -> Result<void> {
    std::erase_if(layout.instances, at(place));
    const auto& gpu = *gpu::find_gpu(machine, place.gpu);
    if (layout.instances.empty() && !mig::mode_needs_reset(gpu)) turn(false, layout);
    return {};
  });
}

Result<void> InstanceMaker::make_whole(const gpu::GpuUuid& uuid, const gpu::Machine& machine) {
  return change(uuid, machine, [&](mig::GpuLayout& layout) -> Result<void> {
    const auto& gpu = *gpu::find_gpu(machine, uuid);
    if (!layout.enabled) return {};
    if (!layout.instances.empty() || mig::mode_needs_reset(gpu)) {
      return fail(Code::kFailedPrecondition, fmt::format("GPU {} is in MIG mode", gpu.index),
                  "delete the Pod and its claim, so that the scheduler looks for another device");
    }
    turn(false, layout);
    return {};
  });
}

Result<InstanceMaker::Found> InstanceMaker::find(const std::vector<dra::MigPlace>& places) {
  Found found;
  ASSIGN_OR_RETURN(found.machine, ports_.read());
  for (const auto& place : places) {
    const auto* gpu = gpu::find_gpu(found.machine, place.gpu);
    ASSIGN_OR_RETURN(const auto state, ports_.control.read(place.gpu));
    auto uuid = gpu == nullptr ? std::nullopt : uuid_at(place, state, *gpu);
    if (!uuid) {
      return fail(Code::kNotFound,
                  fmt::format("the driver tells of no MIG device at memory slice {} of {}",
                              place.at.start, place.gpu.value),
                  "see that no other program changes MIG instances, and who may read them "
                  "(the agent needs NVIDIA_MIG_MONITOR_DEVICES=all)");
    }
    found.uuids.push_back(*std::move(uuid));
  }
  return found;
}

Result<std::set<gpu::GpuUuid>> InstanceMaker::cut_by_others(
    const std::vector<gpu::GpuUuid>& gpus, const std::vector<dra::MigPlace>& places) {
  std::set<gpu::GpuUuid> cut;
  for (const auto& uuid : gpus) {
    ASSIGN_OR_RETURN(const auto state, ports_.control.read(uuid));
    const bool others = std::ranges::any_of(state.instances, [&](const auto& instance) {
      return std::ranges::none_of(places, [&](const dra::MigPlace& place) {
        return place.gpu == uuid && at(place)(instance);
      });
    });
    if (others) cut.insert(uuid);
  }
  return cut;
}

}  // namespace tranche::agent
