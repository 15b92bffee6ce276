#pragma once
// arbiter-status/v1: the arbiter's knowledge of a node's tenants. The arbiter writes it to <state
// dir>/status.json; the agent, the metrics and the commands read it
// (docs/schemas/arbiter-status-v1.schema.json). One JSON object:
//
//   {"checksum":"<FNV-1a, 64 bits, hex>","status":{...},"version":"arbiter-status/v1",
//    "writtenAt":"<RFC 3339>"}
//
// The checksum covers the text of `status`, compact and with sorted keys.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "limit/tenant_limits.h"
#include "values/limits.h"

namespace tranche::limit {

// A tenant on one device.
struct TenantDevice {
  DeviceLimits limits;
  std::optional<std::uint64_t> may_hold_bytes{};  // at present, including what it may borrow
  std::uint64_t charged_bytes = 0;                // charged by its processes
  // Of these: released, and charged until NVML has told who holds it. So the tenant uses
  // charged_bytes - released_bytes + outside_bytes.
  std::uint64_t released_bytes = 0;
  std::uint64_t outside_bytes = 0;  // counted by NVML beyond that
  std::uint64_t gpu_ns = 0;         // GPU time charged since this arbiter started
  std::uint64_t asked_ns = 0;       // GPU time asked for, by its processes' own account
  // Since this arbiter started; `launches` by its processes' own account.
  std::uint64_t waited_ns = 0;  // with a thread that waited for the GPU
  std::uint64_t launches = 0;
  bool operator==(const TenantDevice&) const = default;
};

// Reasons why a tenant is not limited, or not counted, as it should be.
enum class Degraded {
  // The tenant holds more than it may: its limit was lowered, or its untracked memory grew. It gets
  // no more until its memory fits.
  kMemoryOverLimit,
  // The driver does not report how much memory the tenant's processes hold.
  kMemoryNotTold,
  // Part of the tenant's promised memory is lent to others, who have not freed it yet.
  kMemoryLent,
  // NVML did not respond, either at all or for one of the tenant's devices.
  kNotReconciled,
  // The kernel should limit the tenant's memory and does not. The tenant gets no more memory.
  kKernelLimitFailed,
};

struct TenantStatus {
  std::string id;
  std::string resource;
  Enforcement enforcement = Enforcement::kOff;
  Priority priority = Priority::kNormal;
  unsigned processes = 0;        // registered now
  std::uint64_t refused = 0;     // allocations, since this arbiter started
  std::uint64_t longest_ns = 0;  // longest single launch or graph, since then
  std::vector<Degraded> degraded;
  std::vector<TenantDevice> devices;
  bool operator==(const TenantStatus&) const = default;
};

// A tenant whose limits/v1 file cannot be read or used, or that cannot be served now. A new tenant
// is not served. A previously served one keeps its limits.
struct RefusedTenant {
  std::string id;
  std::string reason;
  bool operator==(const RefusedTenant&) const = default;
};

// A problem that the arbiter cannot fix and an operator should know about. The first four kinds
// concern a process on a device, the others a container.
struct Finding {
  enum class Kind {
    // The process belongs to a tenant's container and has not registered: it does not load the
    // limiter, or it started before the limiter was there. No limit applies to it.
    kUnregistered,
    // The process belongs to a Pod that was not granted this device. The other processes on the
    // device are limited.
    kNoGrant,
    // The tenant uses more GPU time than its processes report.
    kUnderReported,
    // The process wrote an impossible value into its slot. Its memory is counted by NVML only, and
    // its tenant gets no more.
    kForgedCharge,
    // The process gave the arbiter something other than its tenant's usage file. The tenant's
    // processes are recounted.
    kForeignUsageFile,
    // The container's image has an /etc/ld.so.preload. Ours is mounted over it.
    kImagePreload,
    // Another program changed the container's kernel limit. The arbiter restores it.
    kKernelLimitChanged,
  };
  Kind kind = Kind::kUnregistered;
  std::string tenant;  // empty with kNoGrant
  // On the host. With kImagePreload: the container's first process. With kKernelLimitChanged: 0.
  pid_t pid = 0;
  std::uint64_t start_time = 0;  // of that process
  std::string name;              // name of that process; empty for a container
  std::string cgroup;
  std::string device;     // empty with kImagePreload and kForeignUsageFile
  std::string preload{};  // with kImagePreload: the libraries listed in the file
  std::optional<std::uint64_t> memory_bytes{};  // nullopt: the driver does not report it
  std::chrono::system_clock::time_point since{};
  bool operator==(const Finding&) const = default;
};

struct MpsServer {
  std::string device;
  pid_t pid = 0;
  bool operator==(const MpsServer&) const = default;
};

struct ArbiterStatus {
  std::string nvml_failure;  // "": NVML responds, or was not queried yet
  std::vector<TenantStatus> tenants;
  std::vector<RefusedTenant> refused;
  std::vector<MpsServer> mps_servers;
  std::vector<Finding> findings;
  bool operator==(const ArbiterStatus&) const = default;
};

std::string encode(const ArbiterStatus& status, std::chrono::system_clock::time_point written_at);
// kInvalidArgument: not arbiter-status/v1, truncated, edited, or a value out of range.
Result<ArbiterStatus> decode_status(std::string_view text);

// "memory-over-limit", "memory-not-told", "memory-lent", "not-reconciled", "kernel-limit-failed";
// "unregistered", "no-grant", "under-reported", "forged-charge", "image-preload",
// "kernel-limit-changed".
std::string_view to_string(Degraded degraded);
std::string_view to_string(Finding::Kind kind);

}  // namespace tranche::limit
