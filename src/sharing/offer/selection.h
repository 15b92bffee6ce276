#pragma once
// Finds the devices of a resource that an entry of the configuration names (`devices:`). Private to
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
  std::vector<std::size_t> devices;  // indices into the class, rising
  std::vector<std::string> missing;  // names of devices that are not there, for a warning
};
// `devices`: one class, by GPU index and slot.
Selection select_devices(const config::Devices& wish, const std::vector<Device>& devices,
                         const DeviceNames& names);

}  // namespace tranche::offer
