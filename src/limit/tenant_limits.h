#pragma once
// limits/v1: what one tenant (a grant: one container's part of one resource) was promised, as the
// agent writes it beside the grant and the arbiter reads it (docs/schemas/limits-v1.schema.json).
// One JSON object:
//
// {"checksum":"<FNV-1a, 64 bits, hex>","limits":{...},"version":"limits/v1"}: the checksum is over
// the text of `limits`, compact and with sorted keys. It finds torn and edited files, not malice.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "limit/shares.h"
#include "limit/wire.h"

namespace tranche::limit {

// Memory beyond what is promised, while it is idle (limit/lending.h).
struct Borrowing {
  std::uint64_t hard_bytes = 0;    // what it may hold at most; more than promised
  std::uint64_t device_bytes = 0;  // what there is to lend from
  bool operator==(const Borrowing&) const = default;
};
// What keeps a tenant's memory of a device, the highest enforcer that the node has. The limiter in
// the container does the rest in any case: compute, views, accounting.
enum class MemoryBy { kLimiter, kMps, kKernel, kMig };

struct DeviceLimits {
  std::string uuid;                             // "GPU-..." or "MIG-..."
  std::optional<std::uint64_t> memory_bytes{};  // promised; nullopt: no limit
  std::uint32_t weight = 1;                     // of the tenant among those on the device
  std::optional<std::uint32_t> permille{};      // of the device's time; nullopt: no cap
  std::optional<Borrowing> borrowing{};         // nullopt: what is promised and no more
  MemoryBy memory_by = MemoryBy::kLimiter;
  bool operator==(const DeviceLimits&) const = default;
};

struct TenantLimits {
  std::string id;
  std::string resource;  // "nvidia.com/gpu"
  wire::Enforcement enforcement = wire::Enforcement::kOff;
  Class priority = Class::kNormal;
  std::vector<DeviceLimits> devices;
  // Not what the configuration promises, but what the operator set (tranche limit set): an agent
  // that starts keeps it until it knows what is set now. The arbiter does not care.
  bool set_by_operator = false;
  bool operator==(const TenantLimits&) const = default;
};

std::string encode(const TenantLimits& limits);
// kInvalidArgument: not limits/v1, torn, edited, or a value out of range; says which.
Result<TenantLimits> decode(std::string_view text);

// Whether limits hold it, or it is only counted.
bool is_held(const TenantLimits& limits);
// What it may hold of a device at most, with what it may borrow; nullopt: no limit.
std::optional<std::uint64_t> most_bytes(const TenantLimits& limits, const DeviceLimits& device);

// What the policy makes of it: elastic tenants may use what others leave, strict ones have their
// part and no more, the others are not held.
Share share_of(const TenantLimits& limits, const DeviceLimits& device);

// "off", "account", "strict", "elastic"; "latency-critical", "normal", "best-effort": as users type
// them. nullopt: no such word.
std::string_view to_string(wire::Enforcement enforcement);
std::string_view to_string(Class priority);
// "limiter", "mps", "kernel", "mig".
std::string_view to_string(MemoryBy by);
std::optional<MemoryBy> memory_by_from(std::string_view word);
std::optional<wire::Enforcement> enforcement_from(std::string_view word);
std::optional<Class> class_from(std::string_view word);

}  // namespace tranche::limit
