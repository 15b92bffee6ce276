#pragma once
// The first half of make_offer: a machine's devices, and the resource name of each before any
// sharing. Private to offer/.

#include <map>
#include <string>
#include <vector>

#include "config/config.h"
#include "gpu/health.h"
#include "gpu/machine.h"
#include "offer/offer.h"

namespace tranche::offer {

struct DeviceClasses {
  // Devices by GPU index, then MIG slot. A device is in one class only.
  std::map<config::ResourceName, std::vector<Device>> by_name;
  std::vector<std::string> warnings;
  // Devices that cannot be offered, by their UUID, and why.
  std::map<std::string, std::string> objections;
  // What has no devices here, and why: instances that this process may not see; for strategy
  // `single` all that a machine has whose MIG layout is not uniform, in NVIDIA's phrases.
  std::map<config::ResourceName, std::string> withheld;
};

// Follows flags.migStrategy and resources.{gpus,mig}, by NVIDIA's rules. GPUs named "DGX Display"
// are left out.
DeviceClasses device_classes(const gpu::Machine& machine, const config::Config& config,
                             const gpu::HealthReport& health);

}  // namespace tranche::offer
