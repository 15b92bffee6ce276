#include "offer/grant_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "base/checksum.h"
#include "values/limits_json.h"

namespace tranche::offer {
namespace {

using nlohmann::json;

constexpr std::string_view kVersion = "grant/v1";

// Keys are sorted and nothing is indented, so equal values always give equal text.
std::string text_of(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

// The text that text_of gives for the same values, without building them: Allocate waits for it.
class Text {
 public:
  Text& raw(std::string_view text) {
    text_.append(text);
    return *this;
  }
  Text& quoted(const std::string& value) {
    const auto is_plain = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };
    if (!std::ranges::all_of(value, is_plain)) return raw(text_of(value));
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
  if (grant.limits) text.raw(R"(,"limits":)").raw(text_of(json_of(*grant.limits)));
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

// Throws json::exception when a field is missing or of the wrong type.
Result<GrantRecord> from_json(const json& value) {
  GrantRecord record;
  value.at("resource").get_to(record.grant.resource.value);
  value.at("ids").get_to(record.grant.ids);
  value.at("envs").get_to(record.grant.envs);
  for (const json& mount : value.at("mounts")) {
    record.grant.mounts.push_back({mount.at("containerPath").get<std::string>(),
                                   mount.at("hostPath").get<std::string>(),
                                   mount.at("readOnly").get<bool>()});
  }
  for (const json& device : value.at("devices")) {
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

std::string encode(const GrantRecord& record) {
  const std::string body = body_of(record);
  return fmt::format(R"({{"checksum":"{:016x}","record":{},"version":"{}"}})", checksum(body), body,
                     kVersion);
}

Result<GrantRecord> decode(std::string_view line) try {
  // A grant is flat; what nests deeper is dropped before it can cost stack.
  constexpr int kMaxDepth = 8;
  const json value =
      json::parse(line, [](int depth, json::parse_event_t, json&) { return depth <= kMaxDepth; });
  const auto version = value.at("version").get<std::string>();
  if (version != kVersion) {
    return refuse(fmt::format("version \"{}\" where this release reads {}", version, kVersion));
  }
  const json& body = value.at("record");
  const auto stored = value.at("checksum").get<std::string>();
  const std::string found = fmt::format("{:016x}", checksum(text_of(body)));
  if (stored != found) {
    return refuse(fmt::format("checksum {} does not match its content ({})", stored, found));
  }
  return from_json(body);
} catch (const json::exception& error) {
  return refuse(fmt::format("torn or not {}: {}", kVersion, error.what()));
}

}  // namespace tranche::offer
