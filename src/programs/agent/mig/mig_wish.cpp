#include "agent/mig/mig_wish.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/checksum.h"
#include "mig/apply.h"
#include "mig/parted.h"
#include "mig/target.h"

namespace tranche::agent {
namespace {

std::string key_of(const std::string& label, std::string_view content) {
  return fmt::format("{:016x}", checksum(fmt::format("{}\n{}", label, content)));
}

// The layout's content, regardless of its place in the file.
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

using IsOne =
    std::function<bool(const gpu::Gpu& gpu, const mig::GpuLayout& from, const mig::GpuLayout& to)>;

// "0, 1": the plan's GPUs that satisfy `is_one`.
std::string indices(const MigPlan& plan, const gpu::Machine& machine, const IsOne& is_one) {
  std::vector<int> found;
  for (const auto& gpu : machine.gpus) {
    const auto to = plan.to.find(gpu.uuid);
    if (to == plan.to.end()) continue;
    if (is_one(gpu, plan.from.at(gpu.uuid), to->second)) found.push_back(gpu.index);
  }
  return fmt::format("{}", fmt::join(found, ", "));
}

std::string_view word(bool enabled) { return enabled ? "on" : "off"; }

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
  // A message about a missing layout also names the defaults.
  parted.configs.merge(mig::default_layouts(machine).configs);
  const auto found = parted.configs.find(label);
  const auto content = found == parted.configs.end() ? "absent" : text_of(found->second);
  if (found == parted.configs.end() && !has_mig(machine)) {
    return {key_of(label, content), without_mig(machine), true, std::move(parted.warnings)};
  }
  auto gpus = mig::wishes_of(parted, label, machine);
  return {key_of(label, content), std::move(gpus), true, std::move(parted.warnings)};
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

std::string describe_waiting(const MigPlan& plan, const gpu::Machine& machine) {
  std::vector<std::string> parts;
  for (const bool enabled : {true, false}) {
    const auto gpus = indices(plan, machine, [&](const auto&, const auto& from, const auto&) {
      return from.waits && from.mode_to_come() == enabled;
    });
    if (gpus.empty()) continue;
    parts.push_back(fmt::format("MIG mode {} of GPU {} waits for a reset", word(enabled), gpus));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string describe_reboot(const MigPlan& plan, const MigStates& states,
                            const gpu::Machine& machine) {
  std::vector<std::string> waiting;
  std::string others;
  for (const bool enabled : {true, false}) {
    const auto to_get_it = [&](bool waits) {
      return indices(plan, machine, [&](const auto& gpu, const auto& from, const auto& to) {
        const auto state = states.find(gpu.uuid);
        const bool stuck =
            state != states.end() && state->second.passed_through && mig::mode_needs_reset(gpu);
        return stuck && to.enabled == enabled && from.enabled != enabled && from.waits == waits;
      });
    };
    if (const auto gpus = to_get_it(true); !gpus.empty()) {
      waiting.push_back(fmt::format("MIG mode {} of GPU {}", word(enabled), gpus));
    }
    if (const auto gpus = to_get_it(false); !gpus.empty()) {
      others += fmt::format("nvidia-smi -i {} -mig {}; ", gpus, enabled ? 1 : 0);
    }
  }
  if (waiting.empty()) return {};
  return fmt::format(
      "{} is already waiting for a reboot, for nothing can reset a GPU that is passed through to "
      "this machine: {}reboot it, and the layout is applied",
      fmt::join(waiting, ", "), others);
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
