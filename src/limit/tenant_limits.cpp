#include "limit/tenant_limits.h"

#include <nlohmann/json.hpp>

#include "base/checksum.h"
#include "fmt/format.h"
#include "values/limits_json.h"

namespace tranche::limit {
namespace {

using nlohmann::json;

constexpr std::string_view kLimitsVersion = "limits/v1";

std::string limits_text(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::unexpected<Error> refuse_limits(std::string why) {
  return fail(Code::kInvalidArgument, std::move(why));
}

Result<TenantLimits> limits_from(const json& value) {
  ASSIGN_OR_RETURN(auto promised, grant_limits_of(value));
  TenantLimits limits{.id = value.at("id").get<std::string>(),
                      .resource = value.at("resource").get<std::string>(),
                      .enforcement = promised.enforcement,
                      .priority = promised.priority,
                      .devices = std::move(promised.devices),
                      .set_by_operator = value.value("setByOperator", false)};
  if (limits.devices.empty() || limits.devices.size() > wire::kMaxDevices) {
    return refuse_limits(
        fmt::format("{} devices; 1 to {} are possible", limits.devices.size(), wire::kMaxDevices));
  }
  return limits;
}

}  // namespace

std::string encode(const TenantLimits& limits) {
  json body = json_of(GrantLimits{limits.enforcement, limits.priority, limits.devices});
  body["id"] = limits.id;
  body["resource"] = limits.resource;
  if (limits.set_by_operator) body["setByOperator"] = true;
  const json file = {{"version", kLimitsVersion},
                     {"checksum", fmt::format("{:016x}", checksum(limits_text(body)))},
                     {"limits", body}};
  return limits_text(file);
}

Result<TenantLimits> decode(std::string_view text) try {
  const json file = json::parse(text);
  if (file.at("version") != kLimitsVersion) return refuse_limits("not limits/v1");
  const json& body = file.at("limits");
  if (file.at("checksum") != fmt::format("{:016x}", checksum(limits_text(body)))) {
    return refuse_limits("its checksum does not match its content");
  }
  return limits_from(body);
} catch (const json::exception& error) {
  return refuse_limits(fmt::format("torn or not limits/v1: {}", error.what()));
}

bool is_held(const TenantLimits& limits) {
  return limits.enforcement == Enforcement::kStrict || limits.enforcement == Enforcement::kElastic;
}

std::optional<Bytes> most_memory(const TenantLimits& limits, const DeviceLimits& device) {
  if (!is_held(limits)) return std::nullopt;
  const bool borrows = limits.enforcement == Enforcement::kElastic && device.borrowing;
  return borrows ? device.borrowing->hard : device.memory;
}

Share share_of(const TenantLimits& limits, const DeviceLimits& device) {
  Share share{.weight = device.weight, .priority = limits.priority};
  if (limits.enforcement == Enforcement::kStrict) share.permille = device.permille;
  return share;
}

}  // namespace tranche::limit
