#include "gpu/devices.h"

#include <utility>

namespace tranche::gpu {

std::vector<std::string> used_devices(const Gpu& gpu) {
  if (!gpu.mig_enabled()) return {gpu.uuid.value};
  std::vector<std::string> uuids;
  for (const auto& instance : gpu.mig_instances) uuids.push_back(instance.uuid.value);
  return uuids;
}

std::vector<std::string> present_gpus(const Machine& machine) {
  std::vector<std::string> uuids;
  for (const auto& gpu : machine.gpus) {
    if (gpu.presence == Presence::kPresent) uuids.push_back(gpu.uuid.value);
  }
  return uuids;
}

std::vector<std::string> present_devices(const Machine& machine) {
  std::vector<std::string> uuids;
  for (const auto& gpu : machine.gpus) {
    if (gpu.presence != Presence::kPresent) continue;
    for (auto& uuid : used_devices(gpu)) uuids.push_back(std::move(uuid));
  }
  return uuids;
}

}  // namespace tranche::gpu
