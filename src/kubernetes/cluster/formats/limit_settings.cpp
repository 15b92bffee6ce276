#include "cluster/formats/limit_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/json.h"
#include "base/utf8.h"
#include "cluster/fields.h"
#include "cluster/to_json.h"

namespace tranche::cluster {
namespace {

using State = LimitOutcome::State;

constexpr std::string_view kSettings = "limit-settings/v1";
constexpr std::string_view kStatus = "limit-status/v1";
constexpr std::size_t kLongestField = 317;  // a resource's: domain, slash, 63 characters
constexpr std::size_t kLongestValue = 40;
constexpr std::size_t kCutMessage = 200;
constexpr std::string_view kAnnotations = "annotations";
constexpr std::int64_t kMostBytes = std::int64_t{1} << 50U;  // a petabyte
constexpr std::array kStates = {
    std::pair{State::kHolds, std::string_view("holds")},
    std::pair{State::kRefused, std::string_view("refused")},
    std::pair{State::kWaiting, std::string_view("waiting")},
};

bool is_object_name(std::string_view text) {
  return !text.empty() && text.size() <= kLongestField && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '/' || c == '_';
  });
}

std::string checked_field(const Fields& fields, std::string_view key,
                          bool (*is_one)(std::string_view)) {
  auto text = fields.text(key);
  if (!is_one(text)) fields.refuse(key, "is missing, or cannot be one");
  return text;
}

LimitSetting setting_from(const Fields& fields) {
  return {.ns = checked_field(fields, "namespace", is_object_name),
          .pod = checked_field(fields, "pod", is_object_name),
          .uid = checked_field(fields, "uid", is_object_name),
          .container = checked_field(fields, "container", is_object_name),
          .resource = checked_field(fields, "resource", is_object_name),
          .memory = checked_field(fields, "memory", is_limit_value),
          .compute = checked_field(fields, "compute", is_limit_value),
          .priority = checked_field(fields, "class", is_limit_value)};
}

std::optional<std::int64_t> maybe_number(const Fields& fields, std::string_view key,
                                         std::int64_t least, std::int64_t most) {
  if (!fields.view().find(key)) return std::nullopt;
  const auto number = fields.number(key);
  if (number < least || number > most) fields.refuse(key, "is out of range");
  return std::clamp(number, least, most);
}

LimitOutcome outcome_from(const Fields& fields) {
  LimitOutcome outcome{
      .setting = setting_from(fields), .message = fields.text("message"), .devices = {}};
  const auto state =
      std::ranges::find(kStates, fields.text("state"), &std::pair<State, std::string_view>::second);
  if (state == kStates.end()) {
    fields.refuse("state", "is none that this release knows");
  } else {
    outcome.state = state->first;
  }
  if (fields.text("by") == kAnnotations) outcome.by = LimitOutcome::By::kAnnotations;
  for (const auto& entry : fields.list("devices")) {
    LimitOutcome::Device device{.uuid = checked_field(entry, "uuid", is_object_name)};
    if (const auto memory = maybe_number(entry, "memoryBytes", 0, kMostBytes)) {
      device.memory_bytes = static_cast<std::uint64_t>(*memory);
    }
    if (const auto permille = maybe_number(entry, "permille", 1, 1000)) {
      device.permille = static_cast<std::uint32_t>(*permille);
    }
    outcome.devices.push_back(std::move(device));
  }
  return outcome;
}

json::Value json_of(const LimitSetting& setting) {
  json::Value json = {{"namespace", setting.ns},
                      {"pod", setting.pod},
                      {"uid", setting.uid},
                      {"container", setting.container},
                      {"resource", setting.resource}};
  if (!setting.memory.empty()) json["memory"] = setting.memory;
  if (!setting.compute.empty()) json["compute"] = setting.compute;
  if (!setting.priority.empty()) json["class"] = setting.priority;
  return json;
}

json::Value json_of(const LimitOutcome& outcome) {
  auto json = json_of(outcome.setting);
  json["state"] = to_string(outcome.state);
  if (outcome.by == LimitOutcome::By::kAnnotations) json["by"] = kAnnotations;
  if (!outcome.message.empty()) json["message"] = outcome.message;
  if (outcome.devices.empty()) return json;
  auto& devices = json["devices"] = json::Value::array();
  for (const auto& device : outcome.devices) {
    json::Value entry = {{"uuid", device.uuid}};
    if (device.memory_bytes) entry["memoryBytes"] = *device.memory_bytes;
    if (device.permille) entry["permille"] = *device.permille;
    devices.push_back(std::move(entry));
  }
  return json;
}

template <class Part>
std::string encode_all(std::string_view version, const std::vector<Part>& parts) {
  json::Value list = json::Value::array();
  for (const auto& part : parts) list.push_back(json_of(part));
  return json::Value({{"version", version}, {"settings", std::move(list)}}).text();
}

template <class Part>
Result<std::vector<Part>> decode_all(std::string_view version, std::string_view text,
                                     std::size_t longest, Part (*read)(const Fields&)) {
  if (text.size() > longest) {
    return fail(Code::kInvalidArgument, fmt::format("{} bytes are too many", text.size()));
  }
  ASSIGN_OR_RETURN(const auto root, json::parse(text));
  std::optional<Error> error;
  const Fields fields(root, "", error);
  if (root.kind() != json::Kind::kObject || fields.text("version") != version) {
    return fail(Code::kInvalidArgument, fmt::format("not {}", version));
  }
  const auto list = fields.list("settings");
  if (list.size() > LimitSetting::kMostEntries) {
    return fail(Code::kInvalidArgument, fmt::format("{} settings are too many", list.size()));
  }
  std::vector<Part> parts;
  for (const auto& entry : list) parts.push_back(read(entry));
  if (error) return std::unexpected(*std::move(error));
  return parts;
}

}  // namespace

std::string claim_resource(std::string_view claim, std::string_view request) {
  return request.empty() ? fmt::format("{}{}", kClaimPrefix, claim)
                         : fmt::format("{}{}/{}", kClaimPrefix, claim, request);
}

bool is_limit_value(std::string_view text) {
  return text.size() <= kLongestValue &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
}

std::string_view to_string(State state) {
  return std::ranges::find(kStates, state, &std::pair<State, std::string_view>::first)->second;
}

std::string encode(const std::vector<LimitSetting>& settings) {
  return encode_all(kSettings, settings);
}

std::string encode(const std::vector<LimitOutcome>& outcomes) {
  auto text = encode_all(kStatus, outcomes);
  if (text.size() <= LimitOutcome::kLongest) return text;
  auto fewer = outcomes;
  for (auto& outcome : fewer) {
    outcome.devices.clear();
    outcome.message.resize(utf8_prefix(outcome.message, kCutMessage).size());
  }
  return encode_all(kStatus, fewer);
}

Result<std::vector<LimitSetting>> decode_limit_settings(std::string_view text) {
  return decode_all(kSettings, text, LimitSetting::kLongest, setting_from);
}

Result<std::vector<LimitOutcome>> decode_limit_outcomes(std::string_view text) {
  return decode_all(kStatus, text, LimitOutcome::kLongest, outcome_from);
}

}  // namespace tranche::cluster
