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
#include "values/limits.h"

namespace tranche::limit {

struct TenantLimits {
  std::string id;
  std::string resource;  // "nvidia.com/gpu"
  Enforcement enforcement = Enforcement::kOff;
  Priority priority = Priority::kNormal;
  std::vector<DeviceLimits> devices;
  // These are not the limits of the configuration: the operator set them (tranche limit set). An
  // agent that starts keeps them until it knows what is set now. The arbiter does not care.
  bool set_by_operator = false;
  bool operator==(const TenantLimits&) const = default;
};

std::string encode(const TenantLimits& limits);
// kInvalidArgument: not limits/v1, torn, edited, or a value out of range; says which.
Result<TenantLimits> decode(std::string_view text);

// Whether it is limited; else it is only counted.
bool is_held(const TenantLimits& limits);
// What it may hold of a device at most, with what it may borrow; nullopt: no limit.
std::optional<Bytes> most_memory(const TenantLimits& limits, const DeviceLimits& device);

// What the policy makes of it: elastic tenants may use what others leave, strict ones have their
// part and no more, the others are not held.
Share share_of(const TenantLimits& limits, const DeviceLimits& device);

}  // namespace tranche::limit
