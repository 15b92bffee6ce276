#pragma once
// arbiter-status/v1: what the arbiter knows of a node's tenants, as it writes it to
// <state dir>/status.json and the agent, metrics and commands read it
// (docs/schemas/arbiter-status-v1.schema.json). One JSON object:
//
// {"checksum":"<FNV-1a, 64 bits, hex>","status":{...},"version":"arbiter-status/v1",
//  "writtenAt":"<RFC 3339>"}: the checksum is over the text of `status`, compact and with sorted
// keys.

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
  std::optional<std::uint64_t> may_hold_bytes{};  // now, with what it may borrow
  std::uint64_t charged_bytes = 0;                // by its processes
  std::uint64_t outside_bytes = 0;                // what NVML counts beyond that
  std::uint64_t gpu_ns = 0;                       // GPU time charged since this arbiter began
  bool operator==(const TenantDevice&) const = default;
};

// Why a tenant is not limited, or not counted, as it should be.
enum class Degraded {
  // It holds more than it may: its limit was lowered, or memory beyond its charges grew. It gets no
  // more until what it holds fits.
  kMemoryOverLimit,
  // The driver does not tell how much memory its processes hold.
  kMemoryNotTold,
  // Part of what it was promised is lent to others, and on its way back.
  kMemoryLent,
  // NVML could not be asked, at all or about one of its devices.
  kNotReconciled,
  // The kernel was to limit its memory and does not. It gets no more memory.
  kKernelLimitFailed,
};

struct TenantStatus {
  std::string id;
  std::string resource;
  Enforcement enforcement = Enforcement::kOff;
  Priority priority = Priority::kNormal;
  unsigned processes = 0;        // registered now
  std::uint64_t refused = 0;     // allocations, since this arbiter began
  std::uint64_t longest_ns = 0;  // longest single launch or graph, since then
  std::vector<Degraded> degraded;
  std::vector<TenantDevice> devices;
  bool operator==(const TenantStatus&) const = default;
};

// A tenant whose file cannot be used. A new one is not served; one that was served before keeps its
// limits.
struct RefusedTenant {
  std::string id;
  std::string reason;
  bool operator==(const RefusedTenant&) const = default;
};

// Something that the arbiter cannot mend and that somebody should know. The first three kinds are
// about a process on a device, the others about a container.
struct Finding {
  enum class Kind {
    // The process belongs to a tenant's container and has not registered: it does not load the
    // library, or it began before the library was there. No limit holds it.
    kUnregistered,
    // The process belongs to a Pod that was not granted this device. Others on the device are
    // limited.
    kNoGrant,
    // The tenant uses more GPU time than its processes report.
    kUnderReported,
    // The container's image has an /etc/ld.so.preload. Ours is mounted over it.
    kImagePreload,
    // Somebody else changed the container's kernel limit. It is set again.
    kKernelLimitChanged,
  };
  Kind kind = Kind::kUnregistered;
  std::string tenant;  // empty with kNoGrant
  // On the host. kImagePreload: of the container's first process. kKernelLimitChanged: 0.
  pid_t pid = 0;
  std::uint64_t start_time = 0;  // of that process
  std::string name;              // of that process; empty for a container
  std::string cgroup;
  std::string device;                           // empty with kImagePreload
  std::string preload{};                        // kImagePreload: the libraries it names
  std::optional<std::uint64_t> memory_bytes{};  // nullopt: the driver does not tell
  std::chrono::system_clock::time_point since{};
  bool operator==(const Finding&) const = default;
};

struct MpsServer {
  std::string device;
  pid_t pid = 0;
  bool operator==(const MpsServer&) const = default;
};

struct ArbiterStatus {
  std::string nvml_failure;  // "": NVML answers, or was not asked yet
  std::vector<TenantStatus> tenants;
  std::vector<RefusedTenant> refused;
  std::vector<MpsServer> mps_servers;
  std::vector<Finding> findings;
  bool operator==(const ArbiterStatus&) const = default;
};

std::string encode(const ArbiterStatus& status, std::chrono::system_clock::time_point written_at);
// kInvalidArgument: not arbiter-status/v1, torn, edited, or a value out of range.
Result<ArbiterStatus> decode_status(std::string_view text);

// "memory-over-limit", "memory-not-told", "memory-lent", "not-reconciled", "kernel-limit-failed";
// "unregistered", "no-grant", "under-reported", "image-preload", "kernel-limit-changed".
std::string_view to_string(Degraded degraded);
std::string_view to_string(Finding::Kind kind);

}  // namespace tranche::limit
