#include "offer/grant_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "base/envelope.h"
#include "base/json_value.h"
#include "values/limits_json.h"

namespace tranche::offer {
namespace {

using Json = nlohmann::json;

constexpr EnvelopeKind kGrant{.version = "grant/v1", .key = "record"};

// The text that json::Value gives for the same values, without building them: Allocate waits for
// it.
class Text {
 public:
  Text& raw(std::string_view text) {
    text_.append(text);
    return *this;
  }
  Text& quoted(const std::string& value) {
    const auto is_plain = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };
    if (!std::ranges::all_of(value, is_plain)) return raw(json::Value(value).text());
    return raw("\"").raw(value).raw("\"");
  }
  // `write(element)` for each, with commas between.
  template <class Range, class Write>
  Text& list(const Range& range, const Write& write) {
    bool first = true;
    for (const auto& element : range) {
      if (!first) raw(",");
      first = false;
      write(element);
    }
    return *this;
  }
  Text& strings(const std::vector<std::string>& values) {
    raw("[").list(values, [this](const std::string& value) { quoted(value); });
    return raw("]");
  }
  Text& map(const std::map<std::string, std::string>& values) {
    raw("{").list(values,
                  [this](const auto& entry) { quoted(entry.first).raw(":").quoted(entry.second); });
    return raw("}");
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

std::string body_of(const GrantRecord& record) {
  const Grant& grant = record.grant;
  Text text;
  text.raw(R"({"annotations":)").map(grant.annotations);
  text.raw(R"(,"cdiDevices":)").strings(grant.cdi_devices);
  text.raw(R"(,"devices":[)").list(grant.devices, [&](const DeviceNode& device) {
    text.raw(R"({"containerPath":)").quoted(device.container_path);
    text.raw(R"(,"hostPath":)").quoted(device.host_path);
    text.raw(R"(,"permissions":)").quoted(device.permissions).raw("}");
  });
  text.raw(R"(],"envs":)").map(grant.envs);
  text.raw(R"(,"grantedAtMs":)").raw(std::to_string(record.granted_at_ms));
  text.raw(R"(,"ids":)").strings(grant.ids);
  if (grant.limits)
    text.raw(R"(,"limits":)").raw(json_of(*grant.limits).text(json::Value::Order::kSorted));
  text.raw(R"(,"mounts":[)").list(grant.mounts, [&](const Mount& mount) {
    text.raw(R"({"containerPath":)").quoted(mount.container_path);
    text.raw(R"(,"hostPath":)").quoted(mount.host_path);
    text.raw(R"(,"readOnly":)").raw(mount.read_only ? "true" : "false").raw("}");
  });
  text.raw(R"(],"resource":)").quoted(grant.resource.value);
  if (!grant.tenant.empty()) text.raw(R"(,"tenant":)").quoted(grant.tenant);
  return text.raw("}").take();
}

// Records written before the tenant was a field of its own: the folder that is mounted names it.
std::string tenant_of_mounts(const std::vector<Mount>& mounts) {
  for (const Mount& mount : mounts) {
    std::string_view path = mount.container_path;
    if (!path.starts_with(kTenantMounts)) continue;
    path.remove_prefix(kTenantMounts.size());
    if (path.starts_with('/')) return std::string(path.substr(1));
  }
  return {};
}

// Throws Json::exception when a field is missing or of the wrong type.
Result<GrantRecord> from_json(const Json& value) {
  GrantRecord record;
  value.at("resource").get_to(record.grant.resource.value);
  value.at("ids").get_to(record.grant.ids);
  value.at("envs").get_to(record.grant.envs);
  for (const Json& mount : value.at("mounts")) {
    record.grant.mounts.push_back({mount.at("containerPath").get<std::string>(),
                                   mount.at("hostPath").get<std::string>(),
                                   mount.at("readOnly").get<bool>()});
  }
  for (const Json& device : value.at("devices")) {
    record.grant.devices.push_back({device.at("containerPath").get<std::string>(),
                                    device.at("hostPath").get<std::string>(),
                                    device.at("permissions").get<std::string>()});
  }
  value.at("annotations").get_to(record.grant.annotations);
  value.at("cdiDevices").get_to(record.grant.cdi_devices);
  value.at("grantedAtMs").get_to(record.granted_at_ms);
  record.grant.tenant = value.contains("tenant") ? value.at("tenant").get<std::string>()
                                                 : tenant_of_mounts(record.grant.mounts);
  if (value.contains("limits")) {
    ASSIGN_OR_RETURN(record.grant.limits, grant_limits_of(value.at("limits")));
  }
  return record;
}

std::unexpected<Error> refuse(std::string why) {
  return fail(Code::kInvalidArgument, "stored grant: " + std::move(why),
              "remove it from the store: kubelet keeps its own copy of what it handed out");
}

}  // namespace

std::string encode(const GrantRecord& record) { return seal(kGrant, body_of(record)); }

Result<GrantRecord> decode(std::string_view line) try {
  const auto body = unseal(kGrant, line);
  if (!body) return refuse(body.error().what);
  auto record = from_json(Json::parse(body->text()));
  if (!record) return refuse(record.error().what);
  return record;
} catch (const Json::exception& error) {
  return refuse(fmt::format("torn or not {}: {}", kGrant.version, error.what()));
}

}  // namespace tranche::offer
