#include "offer/grant_record.h"

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>

namespace tranche::offer {
namespace {

using nlohmann::json;

constexpr std::string_view kVersion = "grant/v1";

// FNV-1a, 64 bits: enough to see that a line is torn or was edited; it is no protection from
// malice.
std::string checksum(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return fmt::format("{:016x}", hash);
}

// Keys are sorted and nothing is indented, so equal values always give equal text.
std::string text_of(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

json to_json(const GrantRecord& record) {
  json mounts = json::array();
  for (const Mount& mount : record.grant.mounts) {
    mounts.push_back({{"containerPath", mount.container_path},
                      {"hostPath", mount.host_path},
                      {"readOnly", mount.read_only}});
  }
  json devices = json::array();
  for (const DeviceNode& device : record.grant.devices) {
    devices.push_back({{"containerPath", device.container_path},
                       {"hostPath", device.host_path},
                       {"permissions", device.permissions}});
  }
  return {{"resource", record.grant.resource.value},
          {"ids", record.grant.ids},
          {"envs", record.grant.envs},
          {"mounts", std::move(mounts)},
          {"devices", std::move(devices)},
          {"annotations", record.grant.annotations},
          {"cdiDevices", record.grant.cdi_devices},
          {"grantedAtMs", record.granted_at_ms}};
}

// Throws json::exception when a field is missing or of the wrong type.
GrantRecord from_json(const json& value) {
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
  return record;
}

std::unexpected<Error> refuse(std::string why) {
  return fail(Code::kInvalidArgument, "stored grant: " + std::move(why),
              "remove it from the store: kubelet keeps its own copy of what it handed out");
}

}  // namespace

std::string encode(const GrantRecord& record) {
  const json body = to_json(record);
  return text_of({{"version", kVersion}, {"checksum", checksum(text_of(body))}, {"record", body}});
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
  const std::string found = checksum(text_of(body));
  if (stored != found) {
    return refuse(fmt::format("checksum {} does not match its content ({})", stored, found));
  }
  return from_json(body);
} catch (const json::exception& error) {
  return refuse(fmt::format("torn or not {}: {}", kVersion, error.what()));
}

}  // namespace tranche::offer
