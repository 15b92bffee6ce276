#include "values/limits_json.h"

#include <fmt/format.h>

namespace tranche {
namespace {

std::optional<Bytes> optional_bytes(const json::Fields& fields, std::string_view key) {
  const auto bytes = fields.maybe<std::uint64_t>(key);
  return bytes ? std::optional(Bytes{*bytes}) : std::nullopt;
}

// The value of the word under `key`; an unknown word is refused.
template <class T>
T known_word(const json::Fields& fields, std::string_view key,
             std::optional<T> (*find)(std::string_view)) {
  const auto word = fields.need<std::string>(key);
  const auto known = find(word);
  if (!known) fields.refuse(fmt::format("unknown {} \"{}\"", fields.path_of(key), word));
  return known.value_or(T());
}

MemoryEnforcer read_enforcer(const json::Fields& fields, const std::string& uuid) {
  // Files of earlier releases have no such key.
  const auto word = fields.maybe<std::string>("memoryBy");
  if (!word) return MemoryEnforcer::kLimiter;
  const auto enforcer = memory_enforcer_of(*word);
  if (!enforcer) fields.refuse(fmt::format("{}: unknown memoryBy {}", uuid, *word));
  return enforcer.value_or(MemoryEnforcer::kLimiter);
}

std::optional<Borrowing> read_borrowing(const json::Fields& fields, const DeviceLimits& device) {
  const auto hard = optional_bytes(fields, "memoryHardBytes");
  if (!hard) return std::nullopt;
  if (!device.memory || *hard < *device.memory) {
    fields.refuse(
        fmt::format("{}: memoryHardBytes {} is less than was promised", device.uuid, hard->value));
  }
  return Borrowing{*hard, Bytes{fields.need<std::uint64_t>("deviceBytes")}};
}

}  // namespace

json::Value json_of(const DeviceLimits& limits) {
  json::Value value = {{"uuid", limits.uuid}, {"weight", limits.weight}};
  if (limits.memory) value["memoryBytes"] = limits.memory->value;
  if (limits.enforcer != MemoryEnforcer::kLimiter) value["memoryBy"] = to_string(limits.enforcer);
  if (limits.permille) value["permille"] = *limits.permille;
  if (limits.borrowing) {
    value["memoryHardBytes"] = limits.borrowing->hard.value;
    value["deviceBytes"] = limits.borrowing->device.value;
  }
  return value;
}

json::Value json_of(const GrantLimits& limits) {
  json::Value devices = json::Value::array();
  for (const DeviceLimits& device : limits.devices) devices.push_back(json_of(device));
  return {{"enforcement", to_string(limits.enforcement)},
          {"priority", to_string(limits.priority)},
          {"devices", std::move(devices)}};
}

DeviceLimits device_limits_of(const json::Fields& fields) {
  DeviceLimits device{.uuid = fields.need<std::string>("uuid"),
                      .memory = optional_bytes(fields, "memoryBytes"),
                      .weight = fields.need<std::uint32_t>("weight"),
                      .permille = fields.maybe<std::uint32_t>("permille")};
  device.borrowing = read_borrowing(fields, device);
  device.enforcer = read_enforcer(fields, device.uuid);
  if (device.weight == 0) fields.refuse(fmt::format("{}: weight 0", device.uuid));
  if (device.permille && (*device.permille == 0 || *device.permille > 1000)) {
    fields.refuse(fmt::format("{}: permille {} is not in 1..1000", device.uuid, *device.permille));
  }
  return device;
}

GrantLimits grant_limits_of(const json::Fields& fields) {
  GrantLimits limits{.enforcement = known_word(fields, "enforcement", enforcement_of),
                     .priority = known_word(fields, "priority", priority_of)};
  for (const auto& entry : fields.need_list("devices")) {
    limits.devices.push_back(device_limits_of(entry));
  }
  return limits;
}

}  // namespace tranche
