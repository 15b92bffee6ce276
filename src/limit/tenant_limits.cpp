#include "limit/tenant_limits.h"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/checksum.h"
#include "fmt/format.h"

namespace tranche::limit {
namespace {

using nlohmann::json;

constexpr std::string_view kLimitsVersion = "limits/v1";

constexpr std::array kEnforcements{
    std::pair{wire::Enforcement::kOff, std::string_view("off")},
    std::pair{wire::Enforcement::kAccount, std::string_view("account")},
    std::pair{wire::Enforcement::kStrict, std::string_view("strict")},
    std::pair{wire::Enforcement::kElastic, std::string_view("elastic")},
};
constexpr std::array kClasses{
    std::pair{Class::kLatencyCritical, std::string_view("latency-critical")},
    std::pair{Class::kNormal, std::string_view("normal")},
    std::pair{Class::kBestEffort, std::string_view("best-effort")},
};

constexpr std::array kMemoryBy{
    std::pair{MemoryBy::kLimiter, std::string_view("limiter")},
    std::pair{MemoryBy::kMps, std::string_view("mps")},
    std::pair{MemoryBy::kKernel, std::string_view("kernel")},
    std::pair{MemoryBy::kMig, std::string_view("mig")},
};

template <class Table>
std::string_view word_for(const Table& table, auto value) {
  for (const auto& [known, word] : table) {
    if (known == value) return word;
  }
  return "?";
}

template <class Table>
auto value_of(const Table& table, std::string_view word) {
  std::optional<decltype(table[0].first)> result;
  for (const auto& [value, known] : table) {
    if (known == word) result.emplace(value);
  }
  return result;
}

std::string limits_text(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::unexpected<Error> refuse_limits(std::string why) {
  return fail(Code::kInvalidArgument, std::move(why));
}

template <class T>
std::optional<T> optional_field(const json& object, const char* key) {
  const auto entry = object.find(key);
  if (entry == object.end() || entry->is_null()) return std::nullopt;
  return entry->get<T>();
}

Result<DeviceLimits> device_from(const json& value) {
  DeviceLimits device{.uuid = value.at("uuid").get<std::string>(),
                      .memory_bytes = optional_field<std::uint64_t>(value, "memoryBytes"),
                      .weight = value.at("weight").get<std::uint32_t>(),
                      .permille = optional_field<std::uint32_t>(value, "permille")};
  if (const auto hard = optional_field<std::uint64_t>(value, "memoryHardBytes")) {
    device.borrowing = {*hard, value.at("deviceBytes").get<std::uint64_t>()};
    if (!device.memory_bytes || *hard < *device.memory_bytes) {
      return refuse_limits(
          fmt::format("{}: memoryHardBytes {} is less than was promised", device.uuid, *hard));
    }
  }
  // Files of releases before this one have no such key.
  if (const auto word = optional_field<std::string>(value, "memoryBy")) {
    const auto by = memory_by_from(*word);
    if (!by) return refuse_limits(fmt::format("{}: unknown memoryBy {}", device.uuid, *word));
    device.memory_by = *by;
  }
  if (device.weight == 0) return refuse_limits(fmt::format("{}: weight 0", device.uuid));
  if (device.permille && (*device.permille == 0 || *device.permille > 1000)) {
    return refuse_limits(
        fmt::format("{}: permille {} is not in 1..1000", device.uuid, *device.permille));
  }
  return device;
}

Result<TenantLimits> limits_from(const json& value) {
  TenantLimits limits{.id = value.at("id").get<std::string>(),
                      .resource = value.at("resource").get<std::string>(),
                      .devices = {}};
  const auto enforcement = enforcement_from(value.at("enforcement").get<std::string>());
  const auto priority = class_from(value.at("priority").get<std::string>());
  if (!enforcement)
    return refuse_limits("unknown enforcement " + limits_text(value.at("enforcement")));
  if (!priority) return refuse_limits("unknown priority " + limits_text(value.at("priority")));
  limits.set_by_operator = optional_field<bool>(value, "setByOperator").value_or(false);
  limits.enforcement = *enforcement;
  limits.priority = *priority;
  for (const json& entry : value.at("devices")) {
    ASSIGN_OR_RETURN(auto device, device_from(entry));
    limits.devices.push_back(std::move(device));
  }
  if (limits.devices.empty() || limits.devices.size() > wire::kMaxDevices) {
    return refuse_limits(
        fmt::format("{} devices; 1 to {} are possible", limits.devices.size(), wire::kMaxDevices));
  }
  return limits;
}

}  // namespace

std::string encode(const TenantLimits& limits) {
  json devices = json::array();
  for (const DeviceLimits& device : limits.devices) {
    json entry = {{"uuid", device.uuid}, {"weight", device.weight}};
    if (device.memory_bytes) entry["memoryBytes"] = *device.memory_bytes;
    if (device.memory_by != MemoryBy::kLimiter) entry["memoryBy"] = to_string(device.memory_by);
    if (device.permille) entry["permille"] = *device.permille;
    if (device.borrowing) {
      entry["memoryHardBytes"] = device.borrowing->hard_bytes;
      entry["deviceBytes"] = device.borrowing->device_bytes;
    }
    devices.push_back(std::move(entry));
  }
  json body = {{"id", limits.id},
               {"resource", limits.resource},
               {"enforcement", to_string(limits.enforcement)},
               {"priority", to_string(limits.priority)},
               {"devices", std::move(devices)}};
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
  return limits.enforcement == wire::Enforcement::kStrict ||
         limits.enforcement == wire::Enforcement::kElastic;
}

std::optional<std::uint64_t> most_bytes(const TenantLimits& limits, const DeviceLimits& device) {
  if (!is_held(limits)) return std::nullopt;
  const bool borrows = limits.enforcement == wire::Enforcement::kElastic && device.borrowing;
  return borrows ? device.borrowing->hard_bytes : device.memory_bytes;
}

Share share_of(const TenantLimits& limits, const DeviceLimits& device) {
  Share share{.weight = device.weight, .priority = limits.priority};
  if (limits.enforcement == wire::Enforcement::kStrict) share.permille = device.permille;
  return share;
}

std::string_view to_string(wire::Enforcement enforcement) {
  return word_for(kEnforcements, enforcement);
}
std::string_view to_string(Class priority) { return word_for(kClasses, priority); }
std::string_view to_string(MemoryBy by) { return word_for(kMemoryBy, by); }
std::optional<wire::Enforcement> enforcement_from(std::string_view word) {
  return value_of(kEnforcements, word);
}
std::optional<Class> class_from(std::string_view word) { return value_of(kClasses, word); }
std::optional<MemoryBy> memory_by_from(std::string_view word) { return value_of(kMemoryBy, word); }

}  // namespace tranche::limit
