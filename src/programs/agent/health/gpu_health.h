#pragma once
// Which GPUs and MIG instances are unhealthy according to hardware and driver, in words for people.
// Not what is kept from Pods for other reasons. Pure.

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
  // Prefixes of its tranches' ids: its UUID, and for a GPU those of its MIG instances.
  std::vector<std::string> uuids;
  unsigned index = 0;                                // its GPU's
  gpu::Presence presence = gpu::Presence::kPresent;  // its GPU's
  bool operator==(const UnhealthyDevice&) const = default;
};
using UnhealthyDevices = std::map<std::string, UnhealthyDevice>;  // by UUID

// MIG instances of an unhealthy GPU have no entries of their own.
UnhealthyDevices unhealthy_devices(const gpu::Machine& machine, const gpu::HealthReport& health);

// "GPU 0 (GPU-...), GPU 1 (GPU-...): XID 79: ...; ...": by index, the first eight, and the number
// of others.
std::string describe(std::vector<UnhealthyDevice> devices);

// TrancheGpuHealthy, False while a device is unhealthy. `gpus`: number of the machine's GPUs.
ConditionReport health_condition(const UnhealthyDevices& devices, std::size_t gpus);

}  // namespace tranche::agent
