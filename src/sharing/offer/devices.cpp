#include "offer/devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tranche::offer {
namespace {

using gpu::Gpu;
using gpu::MigInstance;

std::string health_of(const std::string& uuid, const Gpu& gpu, const gpu::HealthReport& health) {
  if (gpu.presence != gpu::Presence::kPresent) {
    return gpu.presence_reason.empty() ? "the GPU does not answer" : gpu.presence_reason;
  }
  const auto found = health.find(uuid);
  if (found == health.end()) return {};
  return found->second.empty() ? "reported unhealthy" : found->second;
}

// Why a container could not open the device; empty: it can. NVIDIA's plugin exits for such a
// device. Here it is listed as unhealthy, and the others are served.
std::string missing_node(const Gpu& gpu) {
  if (gpu.minor >= 0) return {};
  return "the driver does not tell its minor number, so its node /dev/nvidia<N> is unknown; see "
         "the "
         "agent's warnings and the kernel log of the node";
}

std::string missing_node(const Gpu& gpu, const MigInstance& instance) {
  if (gpu.minor < 0) return missing_node(gpu);
  if (instance.gpu_instance_cap && instance.compute_instance_cap) return {};
  return fmt::format(
      "the driver lists no capability nodes of GPU instance {} and compute instance {} in "
      "/proc/driver/nvidia-caps/mig-minors, so no container could open it",
      instance.gpu_instance_id, instance.compute_instance_id);
}

std::string first_of(std::string reason, std::string otherwise) {
  return reason.empty() ? std::move(otherwise) : std::move(reason);
}

// Empty when the driver does not report the minor number: a guessed node could be another GPU's.
std::vector<std::string> gpu_paths(const Gpu& gpu) {
  if (gpu.minor < 0) return {};
  return {fmt::format("/dev/nvidia{}", gpu.minor)};
}

// A compute instance has its own multiprocessors, but no memory of its own: that is its GPU
// instance's. Its part is computed by slices, so it is the same for each device of a profile and
// does not change when others are created or destroyed next to it.
Bytes memory_of(const MigInstance& instance) {
  const auto& [name, gpu_slices, compute_slices] = instance.profile;
  const Bytes all = instance.attributes.memory;
  if (!instance.profile.partial() || gpu_slices <= 0) return all;
  return Bytes::from_mib(all.mib() * static_cast<std::uint64_t>(compute_slices) /
                         static_cast<std::uint64_t>(gpu_slices));
}

}  // namespace

Device device_of(const Gpu& gpu, const gpu::HealthReport& health) {
  return {.uuid = gpu.uuid.value,
          .index = std::to_string(gpu.index),
          .gpu_index = gpu.index,
          .gpu_uuid = gpu.uuid.value,
          .mig = false,
          .numa_node = gpu.numa_node,
          .paths = gpu_paths(gpu),
          .unhealthy_reason = first_of(health_of(gpu.uuid.value, gpu, health), missing_node(gpu)),
          .memory = gpu.usable_memory()};
}

Device device_of(const Gpu& gpu, const MigInstance& instance, const gpu::HealthReport& health) {
  Device device{.uuid = instance.uuid.value,
                .index = fmt::format("{}:{}", gpu.index, instance.slot),
                .gpu_index = gpu.index,
                .gpu_uuid = gpu.uuid.value,
                .mig = true,
                .numa_node = gpu.numa_node,
                .paths = gpu_paths(gpu),
                .unhealthy_reason = first_of(health_of(instance.uuid.value, gpu, health),
                                             missing_node(gpu, instance)),
                .memory = memory_of(instance),
                .shares_memory = instance.profile.partial()};
  for (const auto& cap : {instance.gpu_instance_cap, instance.compute_instance_cap}) {
    if (cap) device.paths.push_back(fmt::format("/dev/nvidia-caps/nvidia-cap{}", *cap));
  }
  return device;
}

std::optional<Device> find_device(const gpu::Machine& machine, std::string_view uuid,
                                  const gpu::HealthReport& health) {
  for (const auto& gpu : machine.gpus) {
    if (gpu.uuid.value == uuid) return device_of(gpu, health);
    for (const auto& instance : gpu.mig_instances) {
      if (instance.uuid.value == uuid) return device_of(gpu, instance, health);
    }
  }
  return std::nullopt;
}

}  // namespace tranche::offer
