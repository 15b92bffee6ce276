#pragma once
// Books each process that NVML lists on one device with the tenant that it belongs to, for the
// Reconciler. A process that belongs to no tenant may be a finding.
//
// A process belongs to a tenant when it has registered, when the tenant's folder is mounted in its
// container, or when another process of its container has registered. The mount must lead to that
// very folder: a container that mounts something else under that name must not be booked with
// another tenant. The mount point does not matter, because a container's root can move it.
//
// An MPS server of a Pod is recognised by its supervisor (arbiter/mps_daemons.h), never by its
// name. A process outside of Pods is recognised by its name, because no tenant can be there.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "arbiter/node_folder.h"
#include "arbiter/tenant_session.h"
#include "gpu/process_reader.h"
#include "host/process.h"
#include "limit/arbiter_status.h"
#include "limit/untracked_memory.h"

namespace tranche::arbiter {

struct DeviceAccount {
  // A tenant that has a part of the device.
  struct Place {
    TenantSession* session;
    unsigned index;  // the device's index in the tenant's limits
  };
  // Bytes that each registered process has charged, one number per device of its tenant. Key:
  // tenant and pid.
  using Charges = std::map<std::pair<std::string, pid_t>, std::vector<std::uint64_t>>;
  // The processes that were booked with one tenant.
  struct Booked {
    std::vector<limit::Held> held{};
    bool unreported = false;  // NVML does not report the memory of at least one process
    limit::Ns busy{0};        // GPU time that NVML sampled
    std::vector<const gpu::DeviceProcess*> forgers{};  // their slots contain impossible values
    std::vector<const gpu::DeviceProcess*> registered{};

    // Registered processes that may have used the GPU: those that NVML saw using it, or all if it
    // reports none (MIG instances).
    std::vector<const gpu::DeviceProcess*> suspects() const;
  };
  // Called with a process of a tenant's container that has not registered.
  using OnStray = std::function<void(const TenantSession&, const tenant::ProcessId&)>;

  const std::string& device;
  const std::vector<Place>& places;
  const Charges& before;                                            // read when NVML was asked
  const Charges& after;                                             // read when NVML had answered
  std::vector<Booked> booked = std::vector<Booked>(places.size());  // in the order of `places`
  std::vector<limit::Finding> strays{};
  std::vector<pid_t> mps_servers{};
  std::uint64_t others_bytes = 0;  // memory of processes that belong to no tenant

  // False: the process has not registered with any tenant of `places`.
  bool book_registered(const gpu::DeviceProcess& process);
  // `tenants`: those that processes of the container have registered for. `folder`: contains the
  // tenants' files. `serves_mps`: the process is a server of the node's MPS daemons.
  void book_stranger(const gpu::DeviceProcess& process, const host::ProcessFacts& facts,
                     const std::set<std::string>& tenants, const NodeFolder& folder,
                     bool serves_mps, const OnStray& on_stray);
  // Adds a finding about a process of `tenant` that registered.
  void find_registered(limit::Finding::Kind kind, const gpu::DeviceProcess& process,
                       const host::ProcessFacts& facts, const std::string& tenant);
};

}  // namespace tranche::arbiter
