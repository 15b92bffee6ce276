#pragma once
// limits/v1: the limits of one tenant. A tenant is a grant: one container's part of one resource.
// The agent writes the file beside the grant, and the arbiter reads it
// (docs/schemas/limits-v1.schema.json). One JSON object:
//
//   {"checksum":"<FNV-1a, 64 bits, hex>","limits":{...},"version":"limits/v1"}
//
// The checksum is over the text of `limits`, compact and with sorted keys. It finds torn and edited
// files, not malice.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "limit/shares.h"
#include "limit/wire.h"
#include "values/limits.h"

namespace tranche::limit {

struct TenantLimits {
  std::string id;
  std::string resource;  // "nvidia.com/gpu"
  Enforcement enforcement = Enforcement::kOff;
  Priority priority = Priority::kNormal;
  std::vector<DeviceLimits> devices;
  // The operator set these limits (tranche limit set); they are not those of the configuration. An
  // agent that starts keeps them until it knows the present setting. The arbiter ignores this
  // field.
  bool set_by_operator = false;
  bool operator==(const TenantLimits&) const = default;
};

std::string encode(const TenantLimits& limits);
// kInvalidArgument: not limits/v1, torn, edited, or a value out of range; says which.
Result<TenantLimits> decode(std::string_view text);

// Whether the tenant is limited; otherwise it is only counted, or with kOff not even that.
bool is_held(const TenantLimits& limits);
// The most bytes that the tenant may hold of a device, with what it may borrow; nullopt: no limit.
std::optional<Bytes> most_memory(const TenantLimits& limits, const DeviceLimits& device);

// The tenant's share for the policy. An elastic tenant may use what others leave idle, so it has no
// cap. A strict tenant has its part and no more. Other tenants are not limited.
Share share_of(const TenantLimits& limits, const DeviceLimits& device);

}  // namespace tranche::limit
