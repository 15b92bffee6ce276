#include "agent/mig/mig_wish.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/checksum.h"
#include "mig/parted.h"
#include "mig/target.h"

namespace tranche::agent {
namespace {

std::string key_of(const std::string& label, std::string_view content) {
  return fmt::format("{:016x}", checksum(fmt::format("{}\n{}", label, content)));
}

// What the layout says, without its place in the file.
std::string text_of(const std::vector<mig::PartedEntry>& entries) {
  std::string text;
  for (const auto& entry : entries) {
    for (const auto& filter : entry.filters) text += filter.text + ",";
    if (entry.devices) {
      for (const int device : *entry.devices) text += fmt::format(" {}", device);
    } else {
      text += " all";
    }
    text += entry.wish.enabled ? " on" : " off";
    for (const auto& [name, count] : entry.wish.devices) text += fmt::format(" {}={}", name, count);
    text += "\n";
  }
  return text;
}

bool has_mig(const gpu::Machine& machine) {
  return std::ranges::any_of(machine.gpus,
                             [](const gpu::Gpu& gpu) { return !gpu.mig_geometry.empty(); });
}

std::unexpected<Error> without_mig(const gpu::Machine& machine) {
  return fail(Code::kUnsupported,
              fmt::format("no GPU of this node has MIG ({})",
                          machine.gpus.empty() ? "there is none" : machine.gpus.front().name),
              "share its GPUs by time-slicing or MPS, or with limits (tranche.limits)");
}

std::string device_name(const std::string& profile, int compute, int whole) {
  return compute == whole ? profile : fmt::format("{}c.{}", compute, profile);
}

std::map<std::string, int> devices_of(const gpu::Gpu& gpu) {
  std::map<std::string, int> devices;
  for (const auto& instance : gpu.mig_instances) ++devices[instance.profile.name];
  return devices;
}

}  // namespace

MigWish read_wish(const std::string& label, const std::optional<std::string>& file,
                  const std::string& file_name, const gpu::Machine& machine) {
  mig::PartedFile parted;
  if (file) {
    auto parsed = mig::parse_parted(*file, file_name);
    if (!parsed) return {key_of(label, *file), std::unexpected(std::move(parsed).error()), false};
    parted = *std::move(parsed);
  }
  // The defaults are named where a layout is missing.
  parted.configs.merge(mig::default_layouts(machine).configs);
  const auto found = parted.configs.find(label);
  const auto content = found == parted.configs.end() ? "absent" : text_of(found->second);
  if (found == parted.configs.end() && !has_mig(machine)) {
    return {key_of(label, content), without_mig(machine)};
  }
  return {key_of(label, content), mig::wishes_of(parted, label, machine)};
}

Result<MigPlan> make_plan(const std::map<gpu::GpuUuid, mig::GpuWish>& wishes,
                          const mig::Layout& present, const gpu::Machine& machine,
                          const HeldInstances& held) {
  const auto is_held = [&](const gpu::GpuUuid& gpu, const mig::Instance& instance) {
    const auto found = held.find(gpu);
    return found != held.end() && std::ranges::find(found->second, instance) != found->second.end();
  };
  ASSIGN_OR_RETURN(auto target, mig::target_of(wishes, machine, present, is_held));
  MigPlan plan;
  for (auto& [uuid, layout] : target) {
    const auto& now = present.at(uuid);
    if (layout == now) continue;
    plan.from.emplace(uuid, now);
    plan.to.emplace(uuid, std::move(layout));
  }
  return plan;
}

bool shows(const gpu::Gpu& gpu, const mig::GpuLayout& layout) {
  if (gpu.mig_enabled() != layout.enabled) return false;
  return !layout.enabled || devices_of(gpu) == mig::devices_of(layout, gpu.mig_geometry);
}

gpu::Gpu with_layout(gpu::Gpu gpu, const mig::GpuLayout& layout) {
  gpu.mig_mode = layout.enabled ? gpu::MigMode::kEnabled : gpu::MigMode::kDisabled;
  gpu.mig_instances.clear();
  for (const auto& instance : layout.instances) {
    const auto* profile = gpu.mig_geometry.find(instance.profile_id);
    if (profile == nullptr) continue;
    for (const int slices : instance.compute) {
      gpu::MigInstance device;
      device.slot = static_cast<int>(gpu.mig_instances.size());
      device.uuid = {fmt::format("MIG-planned-{}-{}", gpu.index, device.slot)};
      device.profile = {device_name(profile->name, slices, profile->compute_slices),
                        profile->compute_slices, slices};
      if (profile->attributes) device.attributes = *profile->attributes;
      gpu.mig_instances.push_back(std::move(device));
    }
  }
  return gpu;
}

}  // namespace tranche::agent
