#pragma once
// The processes that NVML counts on one device, each booked with the tenant it belongs to, on their
// way into the Reconciler's books; what belongs to nobody is a finding.
//
// A process belongs to a tenant when it registered, or when the tenant's folder is mounted in its
// container: the mount must lead to that very folder, so that a container which mounts something of
// its own under that name brings nothing on others.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arbiter/tenant_session.h"
#include "gpu/process_reader.h"
#include "host/process.h"
#include "limit/arbiter_status.h"
#include "limit/untracked_memory.h"

namespace tranche::arbiter {

// The folder of the tenants' files, as mounts of other processes show it.
class TenantFolder {
 public:
  TenantFolder(const FsRoot& host, const std::filesystem::path& tenants);
  bool is_mounted(const host::ProcessFacts& facts, const std::string& tenant) const;

 private:
  std::optional<host::Place> place_;  // nullopt: not found, so nobody mounts it
};

struct DeviceAccount {
  // A tenant that has the device.
  struct Place {
    TenantSession* session;
    unsigned index;  // of the device among the tenant's
  };
  // What registered processes have charged on each of their tenant's devices, by tenant and pid.
  using Charges = std::map<std::pair<std::string, pid_t>, std::vector<std::uint64_t>>;
  // Of one tenant.
  struct Booked {
    std::vector<limit::Held> held{};
    bool untold = false;  // the driver does not tell some process's memory
    limit::Ns busy{0};    // sampled
    std::vector<const gpu::DeviceProcess*> busy_processes{};  // that registered
  };
  // Of a process of a tenant's container that has not registered.
  using OnStray = std::function<void(const TenantSession&, const tenant::ProcessId&)>;

  const std::string& device;
  const std::vector<Place>& places;
  const Charges& before;                                            // when NVML was asked
  const Charges& after;                                             // when it had answered
  std::vector<Booked> booked = std::vector<Booked>(places.size());  // by place
  std::vector<limit::Finding> strays{};
  std::vector<pid_t> mps_servers{};
  std::uint64_t others_bytes = 0;  // of processes that belong to no tenant

  // False: it has registered with none of the places.
  bool book_registered(const gpu::DeviceProcess& process);
  void book_stranger(const gpu::DeviceProcess& process, const host::ProcessFacts& facts,
                     const TenantFolder& folder, const OnStray& on_stray);
  // A process of this tenant uses more of the device than it tells.
  void find_under_reported(const gpu::DeviceProcess& process, const host::ProcessFacts& facts,
                           const std::string& tenant);
};

}  // namespace tranche::arbiter
