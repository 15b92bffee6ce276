#pragma once
// What a node advertises: the heart of the program. Everything downstream (device plugin, labels,
// CDI, metrics) translates an Offer. offer/make_offer.h makes it.
//
// Orders are stable: resources by name, devices by GPU index then MIG slot, tranches by device then
// replica. So an offer can be compared with the last one.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "config/config.h"
#include "holdings/holding.h"
#include "values/limits.h"

namespace tranche::offer {

// A whole GPU or a MIG instance, from which tranches are cut.
struct Device {
  std::string uuid;   // "GPU-..." or "MIG-..."
  std::string index;  // "0", or "0:1" (GPU index : MIG slot)
  int gpu_index = 0;  // of the GPU itself, or of the MIG instance's GPU
  std::string gpu_uuid;
  bool mig = false;
  std::optional<int> numa_node;
  // Device files inside /dev, in NVIDIA's order: "/dev/nvidia0"; for MIG also
  // "/dev/nvidia-caps/nvidia-cap21" and "/dev/nvidia-caps/nvidia-cap22".
  std::vector<std::string> paths;
  std::string unhealthy_reason;  // empty: healthy
  // The total memory that programs can use (Gpu::usable_memory()), which is what is divided. 0: not
  // reported by the driver. For a compute instance smaller than its GPU instance: its part of the
  // GPU instance's memory, by compute slices.
  Bytes memory;
  // Set for such a compute instance: the hardware lets it use the memory of the whole GPU instance,
  // which the GPU instance's other users share.
  bool shares_memory = false;
  bool operator==(const Device&) const = default;

  bool healthy() const { return unhealthy_reason.empty(); }
};

// One schedulable piece, known to kubelet by its id.
struct Tranche {
  std::string id;          // "GPU-..." or "GPU-...::3"
  std::size_t device = 0;  // index into ResourceOffer::devices
  // Not allocated now, because containers still hold its device in a conflicting way
  // (offer/withholding.h). The hardware is as healthy as Device says.
  bool withheld = false;
  bool operator==(const Tranche&) const = default;
};

// How the control daemon serves a resource that MPS shares. Only the daemon's supervisor knows it
// (mps/ready_file.h).
struct MpsService {
  int protocol = 2;
  bool namespaces = false;  // each container has the folder of one namespace (offer/mps.h)
  // The static SM partition of each tranche, by the tranche's id: the value of
  // CUDA_MPS_SM_PARTITION.
  std::map<std::string, std::string> partitions;
  // The daemon leaves its limits open, for claims: each container's environment lowers them.
  bool open = false;
  bool operator==(const MpsService&) const = default;
};

// The rules of `tranche.limits` for a resource, and their result on its devices (offer/limits.h).
struct OfferLimits {
  config::Limits rules;
  std::vector<int> replicas;                // of ResourceOffer::devices, in that order
  std::vector<MemoryEnforcer> enforcers{};  // in the same order
  // Text for people: the enforcer used instead of the one that was asked for, and why. Empty: the
  // one that was asked for is used.
  std::string instead{};
  bool operator==(const OfferLimits&) const = default;
};

struct ResourceOffer {
  config::ResourceName name;  // as advertised: the new name after a rename
  config::ResourceName base;  // the name before a rename
  std::string endpoint;       // socket file name: "nvidia-gpu.sock"
  std::vector<Device> devices;
  std::vector<Tranche> tranches;
  config::SharingStrategy sharing = config::SharingStrategy::kNone;
  int replicas = 1;  // highest per device
  bool fail_requests_greater_than_one = false;
  MpsService mps;                     // with sharing kMps
  std::optional<OfferLimits> limits;  // nullopt: nothing is counted or limited
  // For each of `devices`, how many tranches of this resource containers hold that the offer no
  // longer has, from when there were more replicas. Empty: none.
  std::vector<int> beyond{};
  bool operator==(const ResourceOffer&) const = default;
};

// What the configuration asks for but is not advertised: a resource, or devices of one.
struct Withheld {
  config::ResourceName name;
  std::string reason;  // why, and what to do
  // The devices (offer::name_of), if others of the resource are advertised. Empty: all of it.
  std::vector<std::string> devices{};
  bool operator==(const Withheld&) const = default;
};

// A device some or all of whose tranches are withheld, because containers hold it in a conflicting
// way.
struct HeldDevice {
  config::ResourceName resource;  // the resource that offers it now
  std::string uuid;
  std::string index;  // Device::index
  std::size_t withheld = 0;
  std::size_t tranches = 0;
  std::vector<holdings::Holding> by;
  bool operator==(const HeldDevice&) const = default;
};

struct Offer {
  std::vector<ResourceOffer> resources;
  std::vector<Withheld> withheld;
  std::vector<HeldDevice> held;
  std::vector<std::string> warnings;  // one line each, with what to do
  bool operator==(const Offer&) const = default;

  const ResourceOffer* find(const config::ResourceName& name) const;
};

// For people: "GPU 1 (GPU-...)", "MIG device 0:1 (MIG-...)".
std::string name_of(const Device& device);
// For people: what is withheld, and why: "nvidia.com/gpu: ...", "GPU 1 (GPU-...) of nvidia.com/gpu:
// ...".
std::string describe(const Withheld& withheld);

// Whether kubelet is told that the tranche is allocatable.
bool is_healthy(const ResourceOffer& offer, const Tranche& tranche);

// The id of replica `replica` of a device, "GPU-...::<replica>"; and a device's uuid from an id.
std::string replica_id(std::string_view uuid, int replica);
std::string_view device_uuid_of(std::string_view id);
bool is_replica_id(std::string_view id);

// The number of tranches of each device of the offer, in the order of its devices.
std::vector<int> tranche_counts(const ResourceOffer& offer);

// The MIG slot of a device; -1 for a whole GPU.
int slot_of(const Device& device);

}  // namespace tranche::offer
