#pragma once
// The heart: what a node advertises. Everything downstream (device plugin, labels, CDI, metrics)
// translates an Offer; offer/make_offer.h makes it.
//
// Orders are stable: resources by name, devices by GPU index then MIG slot, tranches by device then
// replica. So an offer can be compared to the last one.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "config/config.h"
#include "values/limits.h"

namespace tranche::offer {

// A piece of silicon that tranches are cut from: a whole GPU or a MIG instance.
struct Device {
  std::string uuid;   // "GPU-..." or "MIG-..."
  std::string index;  // "0", or "0:1" (GPU index : MIG slot)
  int gpu_index = 0;  // of the GPU it is or lies on
  std::string gpu_uuid;
  bool mig = false;
  std::optional<int> numa_node;
  // Device files inside /dev, in NVIDIA's order: "/dev/nvidia0", for MIG then
  // "/dev/nvidia-caps/nvidia-cap21", "/dev/nvidia-caps/nvidia-cap22".
  std::vector<std::string> paths;
  std::string unhealthy_reason;  // empty: healthy
  Bytes memory;                  // 0: the driver does not tell
  bool operator==(const Device&) const = default;

  bool healthy() const { return unhealthy_reason.empty(); }
};

// One schedulable piece: what kubelet knows by an id.
struct Tranche {
  std::string id;          // "GPU-..." or "GPU-...::3"
  std::size_t device = 0;  // index into ResourceOffer::devices
  bool operator==(const Tranche&) const = default;
};

// How the control daemon of a resource that MPS shares serves it, which only its supervisor knows
// (mps/ready_file.h).
struct MpsService {
  int protocol = 2;
  bool namespaces = false;  // a container has the folder of one (offer/mps.h)
  // The static SM partition of each tranche, by its id: what CUDA_MPS_SM_PARTITION is set to.
  std::map<std::string, std::string> partitions;
  bool operator==(const MpsService&) const = default;
};

// What `tranche.limits` says of a resource, and what it comes to on its devices (offer/limits.h).
struct OfferLimits {
  config::Limits rules;
  std::vector<int> replicas;                // of ResourceOffer::devices, in that order
  std::vector<MemoryEnforcer> enforcers{};  // the same
  // For people: which enforcer holds instead of the one that was asked for, and why; empty: that
  // one.
  std::string instead{};
  bool operator==(const OfferLimits&) const = default;
};

struct ResourceOffer {
  config::ResourceName name;  // as advertised: after a rename, the new name
  config::ResourceName base;  // before it
  std::string endpoint;       // socket file name: "nvidia-gpu.sock"
  std::vector<Device> devices;
  std::vector<Tranche> tranches;
  config::SharingStrategy sharing = config::SharingStrategy::kNone;
  int replicas = 1;  // highest per device
  bool fail_requests_greater_than_one = false;
  MpsService mps;                     // with sharing kMps
  std::optional<OfferLimits> limits;  // nullopt: nothing is counted or limited
  bool operator==(const ResourceOffer&) const = default;
};

// A resource that the configuration wishes for and that is not advertised.
struct Withheld {
  config::ResourceName name;
  std::string reason;  // and what to do
  bool operator==(const Withheld&) const = default;
};

struct Offer {
  std::vector<ResourceOffer> resources;
  std::vector<Withheld> withheld;
  std::vector<std::string> warnings;  // one line each, with what to do
  bool operator==(const Offer&) const = default;

  const ResourceOffer* find(const config::ResourceName& name) const;
};

// The id of replica `n` of a device: "GPU-...::n"; and back: the device's uuid of an id.
std::string replica_id(std::string_view uuid, int replica);
std::string_view device_uuid_of(std::string_view id);
bool is_replica_id(std::string_view id);

// How many tranches each device of the offer has, in the order of its devices.
std::vector<int> tranche_counts(const ResourceOffer& offer);

// The MIG slot of a device, -1 for a whole GPU.
int slot_of(const Device& device);

}  // namespace tranche::offer
