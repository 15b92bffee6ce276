#pragma once
// Finds the devices of a resource named by a configuration entry (`devices:`). Private to
// offer/.

#include <map>
#include <string>
#include <vector>

#include "config/config.h"
#include "gpu/machine.h"
#include "offer/offer.h"

namespace tranche::offer {

// Maps every way to write a device in a `devices:` list, in lower case, to the device's UUID: "0",
// "0:1", "gpu-<uuid>", "mig-<uuid>", "mig-gpu-<uuid>/<gi>/<ci>".
using DeviceNames = std::map<std::string, std::string>;
DeviceNames device_names(const gpu::Machine& machine);

struct Selection {
  std::vector<std::size_t> devices;  // indices into the class, ascending
  std::vector<std::string> missing;  // names of missing devices, for a warning
};
// `devices`: one class, by GPU index and slot.
Selection select_devices(const config::Devices& wish, const std::vector<Device>& devices,
                         const DeviceNames& names);

}  // namespace tranche::offer
