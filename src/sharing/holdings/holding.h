#pragma once
// Who holds which part of which device, by which wire, for which Pod: one tranche, or one device of
// a claim. Metrics, explanations, roll-outs and cost are functions of these values. Pure.
//
// Two holdings exclude each other if both would use the same hardware in incompatible ways
// (docs/decisions/0023-promises.md has the rules and rejected alternatives).

#include <optional>
#include <string>

#include "config/resource_name.h"
#include "values/limits.h"

namespace tranche::holdings {

// How a container got its device.
enum class Wire {
  kDevicePlugin,  // kubelet's Allocate: a whole GPU, a replica, a MIG instance
  kClaim,         // a ResourceClaim: a whole GPU, a share, a MIG instance
  kNone,          // nothing granted it: processes were observed on the device
};

// How a container uses the device.
enum class Use {
  kWhole,       // nobody else uses the device
  kTimeSliced,  // with others, in turns
  kMps,         // with others, through an MPS server
  kShared,      // with others; unknown how
};

// The progress of the holding.
enum class State {
  kReserved,  // about to be granted, or refused
  kGiven,     // stored, and answered or about to be; its container is unknown
  kInUse,     // kubelet has named the container, or has started it
};

struct Holding {
  std::string device{};  // UUID, "GPU-..." or "MIG-..."; empty: an instance that is not created yet
  std::string gpu{};     // UUID of the device's GPU, or its own; empty: it is gone
  // The part of the device to which the tenant is limited. nullopt: no limits, or unknown.
  std::optional<DeviceLimits> part{};
  Wire wire = Wire::kDevicePlugin;
  // "nvidia.com/gpu". For a claim what the container requests (cluster::claim_resource(), or the
  // extended resource that the claim was made for); empty while the container is unknown.
  config::ResourceName resource{};
  // For the device plugin kubelet's id: "GPU-...", "GPU-...::3". For a claim the device's name in
  // its pool, and the share's id: "gpu-0", "gpu-0/6a2f...".
  std::string id{};
  // For a claim: the ResourceClaim in the namespace `ns`, and its request.
  std::string claim{};
  std::string request{};
  // For a claim: the resource whose MPS control daemon its containers are clients of; empty: none.
  std::string mps{};
  std::string tenant{};  // Grant::tenant; empty: without limits
  // The container, empty as far as unknown (holdings/users.h); several of one claim are separate
  // holdings once they are known.
  std::string ns{};
  std::string pod{};
  std::string pod_uid{};
  std::string container{};
  Use use = Use::kWhole;
  State state = State::kGiven;
  bool operator==(const Holding&) const = default;
};

// "namespace/name" of its Pod; empty: unknown.
std::string pod_name(const Holding& holding);

// Whether containers cannot use one device in both ways at the same time.
bool at_odds(Use a, Use b);
// Whether a holder continues when the *same* resource offers its device in the other way: a whole
// GPU of nvidia.com/gpu becomes one of its replicas.
bool follows(Use held, Use offered);
// Whether both use the same hardware: the same device, or one is the GPU of the other.
bool overlap(const Holding& a, const Holding& b);
// Whether `wanted` must not be granted while somebody has `held`. How many may share one device,
// and which claims are compatible, is decided elsewhere (offer/room.h, dra/).
bool excludes(const Holding& held, const Holding& wanted);

}  // namespace tranche::holdings
