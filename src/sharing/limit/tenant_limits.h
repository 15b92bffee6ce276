#pragma once
// limits/v1: the limits of one tenant. A tenant is a grant: one container's part of one resource.
// The agent writes the file next to the grant, and the arbiter reads it
// (docs/schemas/limits-v1.schema.json). One JSON object:
//
//   {"checksum":"<FNV-1a, 64 bits, hex>","limits":{...},"version":"limits/v1"}
//
// The checksum covers the text of `limits`, compact and with sorted keys. It detects truncated and
// edited files, not malice.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "limit/fair_queue.h"
#include "limit/wire.h"
#include "values/limits.h"

namespace tranche::limit {

struct TenantLimits {
  std::string id;
  std::string resource;  // "nvidia.com/gpu"
  Enforcement enforcement = Enforcement::kOff;
  Priority priority = Priority::kNormal;
  std::vector<DeviceLimits> devices;
  // The operator set these limits (tranche limit set); they do not come from the configuration.
  // A starting agent keeps them until it knows the current setting. The arbiter ignores this
  // field.
  bool set_by_operator = false;
  bool operator==(const TenantLimits&) const = default;
};

std::string encode(const TenantLimits& limits);
// kInvalidArgument: not limits/v1, truncated, edited, or a value out of range; says which.
Result<TenantLimits> decode(std::string_view text);

// Whether the tenant is limited; otherwise it is only counted, or with kOff not even that.
bool is_held(const TenantLimits& limits);
// The most bytes of a device that the tenant may hold, including what it may borrow; nullopt: no
// limit.
std::optional<Bytes> most_memory(const TenantLimits& limits, const DeviceLimits& device);

// The tenant's policy for its GPU time. An elastic tenant may use what others leave idle, so it has
// no cap. A strict tenant has exactly its part. Other tenants are not limited.
TimePolicy time_policy_of(const TenantLimits& limits, const DeviceLimits& device);

}  // namespace tranche::limit
