#include "values/limits_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace tranche {
namespace {

using Json = nlohmann::json;

std::unexpected<Error> refuse_limits(std::string why) {
  return fail(Code::kInvalidArgument, std::move(why));
}

template <class T>
std::optional<T> optional_field(const Json& object, const char* key) {
  const auto entry = object.find(key);
  if (entry == object.end() || entry->is_null()) return std::nullopt;
  return entry->get<T>();
}

std::optional<Bytes> optional_bytes(const Json& object, const char* key) {
  const auto bytes = optional_field<std::uint64_t>(object, key);
  return bytes ? std::optional(Bytes{*bytes}) : std::nullopt;
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

Result<DeviceLimits> device_limits_of(const Json& value) try {
  DeviceLimits device{.uuid = value.at("uuid").get<std::string>(),
                      .memory = optional_bytes(value, "memoryBytes"),
                      .weight = value.at("weight").get<std::uint32_t>(),
                      .permille = optional_field<std::uint32_t>(value, "permille")};
  if (const auto hard = optional_bytes(value, "memoryHardBytes")) {
    device.borrowing = {*hard, Bytes{value.at("deviceBytes").get<std::uint64_t>()}};
    if (!device.memory || *hard < *device.memory) {
      return refuse_limits(fmt::format("{}: memoryHardBytes {} is less than was promised",
                                       device.uuid, hard->value));
    }
  }
  // Files of releases before this one have no such key.
  if (const auto word = optional_field<std::string>(value, "memoryBy")) {
    const auto enforcer = memory_enforcer_of(*word);
    if (!enforcer) return refuse_limits(fmt::format("{}: unknown memoryBy {}", device.uuid, *word));
    device.enforcer = *enforcer;
  }
  if (device.weight == 0) return refuse_limits(fmt::format("{}: weight 0", device.uuid));
  if (device.permille && (*device.permille == 0 || *device.permille > 1000)) {
    return refuse_limits(
        fmt::format("{}: permille {} is not in 1..1000", device.uuid, *device.permille));
  }
  return device;
} catch (const Json::exception& error) {
  return refuse_limits(error.what());
}

Result<GrantLimits> grant_limits_of(const Json& value) try {
  const auto enforcement = value.at("enforcement").get<std::string>();
  const auto priority = value.at("priority").get<std::string>();
  const auto known_enforcement = enforcement_of(enforcement);
  const auto known_priority = priority_of(priority);
  if (!known_enforcement)
    return refuse_limits(fmt::format("unknown enforcement \"{}\"", enforcement));
  if (!known_priority) return refuse_limits(fmt::format("unknown priority \"{}\"", priority));
  GrantLimits limits{.enforcement = *known_enforcement, .priority = *known_priority};
  for (const Json& entry : value.at("devices")) {
    ASSIGN_OR_RETURN(auto device, device_limits_of(entry));
    limits.devices.push_back(std::move(device));
  }
  return limits;
} catch (const Json::exception& error) {
  return refuse_limits(error.what());
}

}  // namespace tranche
