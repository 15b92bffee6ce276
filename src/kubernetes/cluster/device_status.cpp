#include "cluster/device_status.h"

#include "base/quantity.h"
#include "base/utf8.h"
#include "cluster/fields.h"
#include "cluster/kinds.h"
#include "cluster/quantities.h"
#include "cluster/to_json.h"

namespace tranche::cluster {
namespace {

constexpr std::string_view kReady = "Ready";

json::Value json_of(const DeviceStatus& status) {
  json::Value entry = {{"driver", status.driver}, {"pool", status.pool}, {"device", status.device}};
  if (!status.share_id.empty()) entry["shareID"] = status.share_id;
  const json::Value ready = {{"type", kReady},
                             {"status", status.ready ? "True" : "False"},
                             {"reason", status.reason},
                             {"message", utf8_prefix(status.message, kLongestConditionMessage)},
                             {"lastTransitionTime", status.since}};
  entry["conditions"] = json::Value::array({ready});
  json::Value data = json::Value::object();
  if (!status.uuid.empty()) data["uuid"] = status.uuid;
  if (status.memory) data["memory"] = to_quantity(status.memory->value);
  if (status.percent) data["compute"] = *status.percent;
  entry["data"] = data;
  return entry;
}

DeviceStatus read_entry(const Fields& entry) {
  DeviceStatus status{.driver = entry.text("driver"),
                      .pool = entry.text("pool"),
                      .device = entry.text("device"),
                      .share_id = entry.text("shareID")};
  for (const auto& condition : entry.list("conditions")) {
    if (condition.text("type") != kReady) continue;
    status.ready = condition.text("status") == "True";
    status.reason = condition.text("reason");
    status.message = condition.text("message");
    status.since = condition.text("lastTransitionTime");
  }
  const auto data = entry.object("data");
  status.uuid = data.text("uuid");
  if (data.has("memory")) status.memory = Bytes{read_amount(data, "memory")};
  if (data.has("compute")) status.percent = static_cast<std::uint32_t>(data.number("compute"));
  return status;
}

}  // namespace

std::string to_apply(const ObjectKey& claim, const std::string& uid,
                     const std::vector<DeviceStatus>& devices) {
  auto json = head_of(kResourceClaim, claim, uid);
  json::Value entries = json::Value::array();
  for (const auto& device : devices) entries.push_back(json_of(device));
  json["status"] = {{"devices", std::move(entries)}};
  return json.text();
}

Result<std::vector<DeviceStatus>> parse_device_statuses(std::string_view claim,
                                                        std::string_view driver) {
  return read_object<std::vector<DeviceStatus>>(
      "ResourceClaim", claim, [&](const Fields& top, std::vector<DeviceStatus>& statuses) {
        for (const auto& entry : top.object("status").list("devices")) {
          if (entry.text("driver") == driver) statuses.push_back(read_entry(entry));
        }
      });
}

}  // namespace tranche::cluster
