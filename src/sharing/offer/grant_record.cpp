#include "offer/grant_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "base/envelope.h"
#include "base/json_fields.h"
#include "base/json_value.h"
#include "values/limits_json.h"

namespace tranche::offer {
namespace {

constexpr EnvelopeKind kGrant{.version = "grant/v1", .key = "record"};

// Writes the same text as json::Value, without building the values: Allocate waits for it.
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
  // Calls `write(element)` for each element, with commas between.
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

// Earlier releases did not store the tenant in a field of its own. In their records the mounted
// folder names the tenant.
std::string tenant_of_mounts(const std::vector<Mount>& mounts) {
  for (const Mount& mount : mounts) {
    std::string_view path = mount.container_path;
    if (!path.starts_with(kTenantMounts)) continue;
    path.remove_prefix(kTenantMounts.size());
    if (path.starts_with('/')) return std::string(path.substr(1));
  }
  return {};
}

GrantRecord read_record(const json::Fields& fields) {
  using Texts = std::vector<std::string>;
  using TextMap = json::Fields::StringMap;
  GrantRecord record{.grant = {.resource = {fields.need<std::string>("resource")},
                               .ids = fields.need<Texts>("ids"),
                               .envs = fields.need<TextMap>("envs")}};
  Grant& grant = record.grant;
  for (const auto& mount : fields.need_list("mounts")) {
    grant.mounts.push_back({mount.need<std::string>("containerPath"),
                            mount.need<std::string>("hostPath"), mount.need<bool>("readOnly")});
  }
  for (const auto& device : fields.need_list("devices")) {
    grant.devices.push_back({device.need<std::string>("containerPath"),
                             device.need<std::string>("hostPath"),
                             device.need<std::string>("permissions")});
  }
  grant.annotations = fields.need<TextMap>("annotations");
  grant.cdi_devices = fields.need<Texts>("cdiDevices");
  record.granted_at_ms = fields.need<std::int64_t>("grantedAtMs");
  grant.tenant =
      fields.has("tenant") ? fields.need<std::string>("tenant") : tenant_of_mounts(grant.mounts);
  if (fields.has("limits")) grant.limits = grant_limits_of(fields.need_object("limits"));
  return record;
}

std::unexpected<Error> refuse(std::string why) {
  return fail(Code::kInvalidArgument, "stored grant: " + std::move(why),
              "remove it from the store: kubelet keeps its own copy of what it handed out");
}

}  // namespace

std::string encode(const GrantRecord& record) { return seal(kGrant, body_of(record)); }

Result<GrantRecord> decode(std::string_view line) {
  const auto body = unseal(kGrant, line);
  if (!body) return refuse(body.error().what);
  auto record = json::read_fields(*body, read_record);
  if (!record) return refuse(record.error().what);
  return record;
}

}  // namespace tranche::offer
