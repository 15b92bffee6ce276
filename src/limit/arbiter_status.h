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

// Why a tenant is not held, or not counted, as it should be.
enum class Degraded {
  kMemoryOverLimit,    // it holds more than it may (its limit was lowered, or outside memory grew):
                       // it gets no more until that fits
  kMemoryNotTold,      // the driver does not tell what its processes hold
  kMemoryLent,         // part of what it was promised is lent, and on its way back
  kNotReconciled,      // the driver, or one of its devices, could not be asked
  kKernelLimitFailed,  // the kernel was to keep its memory and does not: it gets no more of it
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

// Whose file could not be taken: it is not served, or its limits stay as they were.
struct RefusedTenant {
  std::string id;
  std::string reason;
  bool operator==(const RefusedTenant&) const = default;
};

// A process on a device that no limit holds, or not by its own word; or what somebody should know
// of a tenant's container.
struct Finding {
  enum class Kind {
    kUnregistered,        // of a tenant's container, without the library or before its time
    kNoGrant,             // in a Pod that was not granted this device, on which others are limited
    kUnderReported,       // of a tenant that uses more GPU time than its processes tell
    kImagePreload,        // a container whose image has an /etc/ld.so.preload that ours covers
    kKernelLimitChanged,  // a container whose kernel limit somebody else changed; it is set again
  };
  Kind kind = Kind::kUnregistered;
  std::string tenant;  // but for kNoGrant
  pid_t pid = 0;  // on the host; of kImagePreload the container's first; else of a container: 0
  std::uint64_t start_time = 0;
  std::string name;  // not of a container
  std::string cgroup;
  std::string device;                           // not of kImagePreload
  std::string preload{};                        // of kImagePreload: libraries
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
