#pragma once
// Who holds which part of which device, by which wire, for which Pod: one tranche, or one device of
// a claim. Metrics, explanations, roll-outs and cost are functions of these values. Pure.
//
// Two holdings exclude each other where both would use the same silicon in ways that do not go
// together (docs/decisions/0023-promises.md has the rules and what was rejected).

#include <optional>
#include <string>

#include "config/resource_name.h"
#include "values/limits.h"

namespace tranche::holdings {

// By which way a container came to its device.
enum class Wire {
  kDevicePlugin,  // kubelet's Allocate: a whole GPU, a replica, a MIG instance
  kClaim,         // a ResourceClaim: a whole GPU, a share, a MIG instance
  kMpsClient,     // a client of an MPS control daemon that nothing granted
  kNone,          // a process that no Pod of this node accounts for
};

// How a container uses the device.
enum class Use {
  kWhole,       // nobody else uses the device
  kTimeSliced,  // with others, in turns
  kMps,         // with others, through an MPS server
  kShared,      // with others; by what is not known
};

// How far the holding has come.
enum class State {
  kReserved,  // about to be given, or refused
  kGiven,     // stored, and answered or about to be; its container is not known
  kInUse,     // kubelet has named the container, or has started it
};

struct Holding {
  std::string device{};  // UUID, "GPU-..." or "MIG-..."; empty: an instance that is not made yet
  std::string gpu{};     // UUID of the GPU that the device is, or lies on; empty: it is gone
  // The part of the device to which the tenant is held. nullopt: it has no limits, or they are not
  // known.
  std::optional<DeviceLimits> part{};
  Wire wire = Wire::kDevicePlugin;
  // "nvidia.com/gpu". For a claim what the container asks for (cluster::claim_resource(), or the
  // extended resource that the claim was made for); empty while the container is not known.
  config::ResourceName resource{};
  // For the device plugin kubelet's id: "GPU-...", "GPU-...::3". For a claim the device's name in
  // its pool, and the share's id: "gpu-0", "gpu-0/6a2f...".
  std::string id{};
  // For a claim: the ResourceClaim in the namespace `ns`, and its request.
  std::string claim{};
  std::string request{};
  // For a claim: the resource whose MPS control daemon has its containers as clients; empty: they
  // are none.
  std::string mps{};
  std::string tenant{};  // Grant::tenant; empty: no limits hold it
  // The container. Empty as far as it is not known (holdings/users.h); a claim may have several,
  // each a holding of its own once they are known.
  std::string ns{};
  std::string pod{};
  std::string pod_uid{};
  std::string container{};
  Use use = Use::kWhole;
  State state = State::kGiven;
  bool operator==(const Holding&) const = default;
};

// "namespace/name" of its Pod; empty: not known.
std::string pod_name(const Holding& holding);

// Whether containers cannot use one device in both ways at a time.
bool at_odds(Use a, Use b);
// Whether who holds a device in the one way goes along when the *same* resource offers it in the
// other one: a whole GPU of nvidia.com/gpu becomes one of its replicas.
bool follows(Use held, Use offered);
// Whether both use silicon of the same device: one has the other's, or the GPU that it lies on.
bool overlap(const Holding& a, const Holding& b);
// Whether `wanted` may not be given while somebody has `held`. How many may share one device, and
// which claims go together, is for who divides it to say (offer/room.h, dra/).
bool excludes(const Holding& held, const Holding& wanted);

}  // namespace tranche::holdings
