#pragma once
// Sharing by NVIDIA's MPS: which devices can be, what each client process may use, and what a
// container's grant has of it. Pure. The daemons' side is in mps/.
//
// MPS clamps twice: by the control daemon's defaults, and by two variables of the client's
// environment, which can only lower them. Its limits count for each client process; that a
// container as a whole keeps to its part is tranche.limits' business (offer/limits.h).

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/units.h"
#include "config/config.h"
#include "gpu/machine.h"
#include "offer/grant.h"
#include "offer/offer.h"

namespace tranche::offer {

// Where the daemons' folder is mounted in containers, as NVIDIA's plugin has it.
inline constexpr std::string_view kMpsMount = "/mps";

// Client processes that one GPU can serve: 48 from Volta (compute capability 7.0) on, 16 before.
// NVIDIA's control daemon takes 7.0 for older than Volta.
int most_mps_clients(gpu::ComputeCapability capability);

// Why `device` of `machine` cannot be shared by MPS in `replicas`, in NVIDIA's words, and what to
// do; empty: it can. `name`: the resource of the sharing entry.
std::string mps_objection(const gpu::Machine& machine, const Device& device, int replicas,
                          const config::ResourceName& name);

// What MPS lets one client process have.
struct MpsShare {
  std::optional<Bytes> memory;  // nullopt: no limit, or the driver does not tell the device's
  int thread_percentage = 100;  // 1..100, of the device's multiprocessors
  bool operator==(const MpsShare&) const = default;
};

// The daemon's default for device `device` (an index of ResourceOffer::devices, cut into replicas).
// Without limits the device's memory and 100 % divided by the replicas, as with NVIDIA's. With
// limits that hold, a tranche's part; where a container may have several tranches, no less than all
// of the device: then each grant's environment has its own part.
MpsShare mps_default(const ResourceOffer& offer, std::size_t device);

// MPS v3's namespaces: limits that a group of clients has by the socket it connects to. A container
// has the folder of one alone, so that its environment, which lowers limits otherwise, has no say.
struct MpsNamespace {
  std::string name;
  MpsShare share;  // on each of the server's GPUs: where their parts differ, the largest
  bool operator==(const MpsNamespace&) const = default;
};
// The one server of a resource's daemon, and what clients have that were given no namespace.
inline constexpr std::string_view kMpsServer = "shared";
inline constexpr std::string_view kMpsDefault = "default";
// All that a daemon of the resource needs: `default`, and where a container may have several
// tranches `tranches_<n>` for those with at most n on one device.
std::vector<MpsNamespace> mps_namespaces(const ResourceOffer& offer);

// With offer.mps.namespaces the folder is that of the container's namespace, and of the variables
// there is only the memory of devices whose part is less than the namespace has; with static SM
// partitions the tranche's own (CUDA_MPS_SM_PARTITION).
//
// CUDA_MPS_PIPE_DIRECTORY and the mounts of the pipe folder and of /dev/shm, as NVIDIA's plugin;
// with parts of its own the two variables that lower the daemon's defaults. Nothing when the
// resource is not shared by MPS, or `ids` are whole devices. `mps_root`: the folder on the host.
void add_mps(const ResourceOffer& offer, std::span<const std::string> ids,
             const std::string& mps_root, Grant& grant);

}  // namespace tranche::offer
