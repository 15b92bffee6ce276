#include "agent/hardware/leaving.h"

namespace tranche::agent {

std::set<std::string> leaving_devices(const MigStanding& standing, const gpu::Machine& machine) {
  std::set<std::string> devices;
  for (const auto& [uuid, why] : standing.neighbours) devices.insert(uuid);
  for (const auto& gpu : machine.gpus) {
    const auto found = standing.changing.find(gpu.uuid.value);
    if (found == standing.changing.end()) continue;
    devices.insert(gpu.uuid.value);
    for (const auto& instance : gpu.mig_instances) {
      if (!found->second.contains(instance.gpu_instance_id)) devices.insert(instance.uuid.value);
    }
  }
  return devices;
}

}  // namespace tranche::agent
