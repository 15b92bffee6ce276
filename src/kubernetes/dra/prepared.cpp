#include "dra/prepared.h"

#include <fmt/format.h>

#include "base/envelope.h"
#include "base/json_fields.h"
#include "base/json_value.h"
#include "base/uuid.h"
#include "values/limits_json.h"

namespace tranche::dra {
namespace {

constexpr EnvelopeKind kCheckpoint{.version = "checkpoint/v1", .key = "claim"};
constexpr std::string_view kAnyVersion = "checkpoint/v";

bool is_of_another_version(std::string_view text) {
  const auto root = json::parse(text);
  if (!root) return false;
  const auto version = root->find("version").value_or(json::View()).as_string();
  return version && version->starts_with(kAnyVersion) && *version != kCheckpoint.version;
}

json::Value json_of(const PreparedDevice& device) {
  json::Value json = {
      {"request", device.request}, {"pool", device.pool}, {"device", device.device}};
  if (device.place) {
    json["place"] = {{"gpu", device.place->gpu.value},
                     {"profile", device.place->profile_id},
                     {"start", device.place->at.start},
                     {"size", device.place->at.size}};
  } else {
    json["uuid"] = device.uuid;
  }
  if (!device.share_id.empty()) json["shareID"] = device.share_id;
  if (device.part) {
    json["part"] = {{"memoryBytes", device.part->memory.value}, {"percent", device.part->percent}};
  }
  if (device.limits) json["limits"] = tranche::json_of(*device.limits);
  if (device.admin_access) json["adminAccess"] = true;
  if (!device.joined.empty()) json["joined"] = device.joined;
  if (!device.mps.empty()) json["mps"] = device.mps;
  return json;
}

std::string need_uuid(const json::Fields& fields, std::string_view key) {
  auto text = fields.need<std::string>(key);
  if (!is_uuid(text)) fields.refuse(key, "is no UUID");
  return text;
}

MigPlace read_place(const json::Fields& fields) {
  constexpr int kMost = 64;  // memory slices
  return {.gpu = {fields.need<std::string>("gpu")},
          .profile_id = static_cast<int>(fields.need_number("profile", 0, 1 << 20U)),
          .at = {.start = static_cast<int>(fields.need_number("start", 0, kMost)),
                 .size = static_cast<int>(fields.need_number("size", 1, kMost))}};
}

PreparedDevice read_device(const json::Fields& fields) {
  PreparedDevice device{.request = fields.need<std::string>("request"),
                        .pool = fields.need<std::string>("pool"),
                        .device = fields.need<std::string>("device"),
                        .admin_access = fields.need_or("adminAccess", false)};
  if (fields.has("place")) {
    device.place = read_place(fields.need_object("place"));
  } else {
    device.uuid = fields.need<std::string>("uuid");
  }
  if (fields.has("shareID")) device.share_id = need_uuid(fields, "shareID");
  if (fields.has("part")) {
    const auto part = fields.need_object("part");
    device.part = {.memory = {part.need<std::uint64_t>("memoryBytes")},
                   .percent = static_cast<std::uint32_t>(part.need_number("percent", 1, 100))};
  }
  if (fields.has("joined")) device.joined = need_uuid(fields, "joined");
  if (fields.has("mps")) device.mps = fields.need<std::string>("mps");
  if (fields.has("limits")) device.limits = grant_limits_of(fields.need_object("limits"));
  return device;
}

PreparedClaim read_claim(const json::Fields& fields) {
  PreparedClaim claim{.ns = fields.need<std::string>("namespace"),
                      .name = fields.need<std::string>("name"),
                      .uid = need_uuid(fields, "uid"),
                      .boot = fields.need<std::string>("boot")};
  for (const auto& device : fields.need_list("devices")) {
    claim.devices.push_back(read_device(device));
  }
  if (fields.has("pod")) claim.pod = fields.need<std::string>("pod");
  if (fields.has("driver")) claim.driver = fields.need<std::string>("driver");
  return claim;
}

}  // namespace

void fill_uuid(PreparedDevice& device, const std::string& uuid) {
  device.uuid = uuid;
  if (!device.limits) return;
  for (auto& limits : device.limits->devices) limits.uuid = uuid;
}

std::string tenant_of(const PreparedClaim& claim, const PreparedDevice& device) {
  if (!device.limits) return "";
  if (!device.joined.empty()) return device.joined;
  return device.share_id.empty() ? fmt::format("{}-{}", claim.uid, device.device) : device.share_id;
}

std::string cdi_device_name(const PreparedClaim& claim, const PreparedDevice& device) {
  return device.share_id.empty()
             ? fmt::format("{}-{}", claim.uid, device.device)
             : fmt::format("{}-{}-{}", claim.uid, device.device, device.share_id);
}

std::string encode(const PreparedClaim& claim) {
  json::Value devices = json::Value::array();
  for (const auto& device : claim.devices) devices.push_back(json_of(device));
  json::Value content = {{"namespace", claim.ns},
                         {"name", claim.name},
                         {"uid", claim.uid},
                         {"boot", claim.boot},
                         {"devices", devices}};
  if (!claim.pod.empty()) content["pod"] = claim.pod;
  if (!claim.driver.empty()) content["driver"] = claim.driver;
  return seal(kCheckpoint, content.text(json::Value::Order::kSorted));
}

Result<PreparedClaim> decode_prepared(std::string_view text) {
  auto content = unseal(kCheckpoint, text);
  if (content) return json::read_fields(*content, read_claim);
  if (is_of_another_version(text)) content.error().code = Code::kUnsupported;
  return std::unexpected(std::move(content).error());
}

}  // namespace tranche::dra
