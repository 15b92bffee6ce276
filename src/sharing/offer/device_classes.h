#pragma once
// The first half of make_offer: a machine's devices, and each one's resource name before any
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
  // Devices by GPU index, then MIG slot. A device is in only one class.
  std::map<config::ResourceName, std::vector<Device>> by_name;
  std::vector<std::string> warnings;
  // Why devices cannot be offered, by device UUID.
  std::map<std::string, std::string> objections;
  // Resources without devices here, and why: instances that this process may not see; for strategy
  // `single` all of a machine whose MIG layout is not uniform, in NVIDIA's phrases.
  std::map<config::ResourceName, std::string> withheld;
};

// Follows flags.migStrategy and resources.{gpus,mig}, by NVIDIA's rules. GPUs named "DGX Display"
// are excluded.
DeviceClasses device_classes(const gpu::Machine& machine, const config::Config& config,
                             const gpu::HealthReport& health);

}  // namespace tranche::offer
