#pragma once
// Which GPUs and MIG instances are not in order, as the hardware and its driver say, in words for
// people. Not what is kept from Pods for other reasons. Pure.

#include <map>
#include <string>
#include <vector>

#include "agent/node/condition_report.h"
#include "gpu/health.h"
#include "gpu/machine.h"

namespace tranche::agent {

struct UnhealthyDevice {
  std::string name;    // "GPU 0 (GPU-...)", "MIG-... of GPU 0 (GPU-...)"
  std::string reason;  // with what to do
  // What begins the ids of its tranches: its UUID, and for a GPU those of its MIG instances.
  std::vector<std::string> uuids;
  bool operator==(const UnhealthyDevice&) const = default;
};
using UnhealthyDevices = std::map<std::string, UnhealthyDevice>;  // by UUID

// A MIG instance of a GPU that is unhealthy as a whole has no entry of its own.
UnhealthyDevices unhealthy_devices(const gpu::Machine& machine, const gpu::HealthReport& health);

// "GPU 0 (GPU-...): XID 79: ...; ...": the first eight, and how many more there are.
std::string describe(const std::vector<UnhealthyDevice>& devices);

// TrancheGpuHealthy, which is False while a device is unhealthy. `gpus`: how many the machine has.
ConditionReport health_condition(const UnhealthyDevices& devices, std::size_t gpus);

}  // namespace tranche::agent
