#include "limit/tenant_limits.h"

#include "base/envelope.h"
#include "base/json_fields.h"
#include "base/json_value.h"
#include "fmt/format.h"
#include "values/limits_json.h"

namespace tranche::limit {
namespace {

constexpr EnvelopeKind kLimits{.version = "limits/v1", .key = "limits"};

TenantLimits read_limits(const json::Fields& fields) {
  auto promised = grant_limits_of(fields);
  TenantLimits limits{.id = fields.need<std::string>("id"),
                      .resource = fields.need<std::string>("resource"),
                      .enforcement = promised.enforcement,
                      .priority = promised.priority,
                      .devices = std::move(promised.devices),
                      .set_by_operator = fields.need_or("setByOperator", false)};
  if (limits.devices.empty() || limits.devices.size() > wire::kMaxDevices) {
    fields.refuse(
        fmt::format("{} devices; 1 to {} are possible", limits.devices.size(), wire::kMaxDevices));
  }
  return limits;
}

}  // namespace

std::string encode(const TenantLimits& limits) {
  json::Value body = json_of(GrantLimits{limits.enforcement, limits.priority, limits.devices});
  body["id"] = limits.id;
  body["resource"] = limits.resource;
  if (limits.set_by_operator) body["setByOperator"] = true;
  return seal(kLimits, body.text(json::Value::Order::kSorted));
}

Result<TenantLimits> decode(std::string_view text) {
  ASSIGN_OR_RETURN(const auto body, unseal(kLimits, text));
  return json::read_fields(body, read_limits);
}

bool is_held(const TenantLimits& limits) { return is_enforced(limits.enforcement); }

std::optional<Bytes> most_memory(const TenantLimits& limits, const DeviceLimits& device) {
  if (!is_held(limits)) return std::nullopt;
  const bool borrows = limits.enforcement == Enforcement::kElastic && device.borrowing;
  return borrows ? device.borrowing->hard : device.memory;
}

TimePolicy time_policy_of(const TenantLimits& limits, const DeviceLimits& device) {
  TimePolicy policy{.weight = device.weight, .priority = limits.priority};
  if (limits.enforcement == Enforcement::kStrict) policy.permille = device.permille;
  return policy;
}

}  // namespace tranche::limit
