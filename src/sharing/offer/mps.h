#pragma once
// Sharing by NVIDIA's MPS: which devices it can share, what each client process may use, and what a
// container's grant contains for it. Pure. The room mps/ has the daemons' side.
//
// MPS limits a client twice: by the control daemon's defaults, and by two variables of the client's
// environment, which can only lower the defaults. MPS applies its limits to each client process.
// Limits of a whole container are up to tranche.limits (offer/limits.h).

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/units.h"
#include "config/config.h"
#include "gpu/machine.h"
#include "offer/grant.h"
#include "offer/offer.h"

namespace tranche::offer {

// The mount point of the daemons' folder in containers, as in NVIDIA's plugin.
inline constexpr std::string_view kMpsMount = "/mps";

// The number of client processes that one GPU can serve: 48 from Volta (compute capability 7.0) on,
// 16 before. NVIDIA's control daemon treats 7.0 as older than Volta.
int most_mps_clients(gpu::ComputeCapability capability);

// Why MPS cannot share `device` of `machine` in `replicas`, in NVIDIA's words, and what to do;
// empty: it can. `name`: the resource of the sharing entry.
std::string mps_objection(const gpu::Machine& machine, const Device& device, int replicas,
                          const config::ResourceName& name);

// The limits that MPS sets for one client process.
struct MpsShare {
  std::optional<Bytes> memory;  // nullopt: no limit, or the device's memory is unknown
  int thread_percentage = 100;  // 1..100, of the device's multiprocessors
  bool operator==(const MpsShare&) const = default;
};

// The daemon's default for device `device` (an index of ResourceOffer::devices, divided into
// replicas). Without limits it is the device's memory and 100 % divided by the replicas, as in
// NVIDIA's plugin. With enforced limits it is a tranche's part. Where a container may have several
// tranches it is all of the device, and each grant's environment lowers it to the container's own
// part.
MpsShare mps_default(const ResourceOffer& offer, std::size_t device);

// A namespace of MPS v3: the limits of a group of clients, by the socket to which they connect. A
// container has the folder of one namespace only, so its environment, which otherwise lowers the
// limits, does not decide them.
struct MpsNamespace {
  std::string name;
  MpsShare share;  // the same on each GPU of the server: the largest part
  bool operator==(const MpsNamespace&) const = default;
};
// The name of the single server of a resource's daemon, and the default namespace of
// clients.
inline constexpr std::string_view kMpsServer = "shared";
inline constexpr std::string_view kMpsDefault = "default";
// All namespaces that a daemon of the resource needs: `default`, and where a container may have
// several tranches also `tranches_<n>`, for containers with at most n on one device.
std::vector<MpsNamespace> mps_namespaces(const ResourceOffer& offer);

// The UUIDs of the GPUs that the resource's control daemon serves: those with several tranches.
// Empty if MPS does not share it.
std::set<std::string> mps_gpus(const ResourceOffer& offer);

// The percentage of the multiprocessors for a process with these limits, 1 to 100. The limiter may
// restrict it to less of the time.
int mps_percentage(const DeviceLimits& limits);

// What makes a container a client.
struct MpsClient {
  std::map<std::string, std::string> envs;
  std::vector<Mount> mounts;
  bool operator==(const MpsClient&) const = default;
};
// For a daemon that leaves its limits open. `parts`: the container's limits on its GPUs; no limit
// is set on a GPU that it has entirely.
MpsClient mps_client(const std::string& resource, const MpsService& service,
                     const std::string& mps_root, std::span<const DeviceLimits> parts);

// Adds CUDA_MPS_PIPE_DIRECTORY and the mounts of the pipe folder and of /dev/shm, as NVIDIA's
// plugin does. A container with its own part also gets the two variables that lower the daemon's
// defaults. Adds nothing when MPS does not share the resource, or when `ids` are whole devices.
// `mps_root`: the folder on the host.
//
// With offer.mps.namespaces the folder is that of the container's namespace. Of the two variables
// only the memory limit is set, for devices whose part is smaller than the namespace's. With static
// SM partitions CUDA_MPS_SM_PARTITION is set to the tranche's own.
void add_mps(const ResourceOffer& offer, std::span<const std::string> ids,
             const std::string& mps_root, Grant& grant);

}  // namespace tranche::offer
