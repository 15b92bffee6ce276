#include "config/file/json.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/json.h"
#include "base/json_value.h"
#include "config/go_values.h"

namespace tranche::config {
namespace {

using Json = json::Value;

struct ValueToJson {
  Json operator()(const Interval& interval) const {
    return interval.value ? Json(go::format_duration(*interval.value)) : Json("infinite");
  }
  // No key that is written here has a fraction.
  Json operator()(double value) const { return static_cast<std::int64_t>(value); }
  template <class T>
  Json operator()(const T& value) const {
    return value;
  }
};

// A key of `flags`, `flags.plugin` or `flags.gfd`.
struct Key {
  std::string_view name;
  bool omitted = false;  // left out when unset; else null
};

constexpr auto kTop = std::to_array<Key>({{"migStrategy"},
                                          {"failOnInitError"},
                                          {"mpsRoot", true},
                                          {"nvidiaDriverRoot", true},
                                          {"nvidiaDevRoot", true},
                                          {"gdrcopyEnabled"},
                                          {"gdsEnabled"},
                                          {"mofedEnabled"},
                                          {"useNodeFeatureAPI"},
                                          {"deviceDiscoveryStrategy"}});
constexpr auto kPlugin = std::to_array<Key>({{"passDeviceSpecs"},
                                             {"deviceListStrategy"},
                                             {"deviceIDStrategy"},
                                             {"cdiAnnotationPrefix"},
                                             {"nvidiaCTKPath"},
                                             {"containerDriverRoot"},
                                             {"sharedDevicesAllocationPolicy"}});
constexpr auto kGfd = std::to_array<Key>(
    {{"oneshot"}, {"noTimestamp"}, {"sleepInterval"}, {"outputFile"}, {"machineTypeFile"}});

Json keys_to_json(const Settings& settings, const std::string& path, std::span<const Key> keys) {
  Json json = Json::object();
  for (const auto& key : keys) {
    const auto* setting = settings.find(path + std::string(key.name));
    if (setting == nullptr && key.omitted) continue;
    json[std::string(key.name)] =
        setting == nullptr ? Json(nullptr) : std::visit(ValueToJson{}, setting->value);
  }
  return json;
}

bool any_under(const Settings& settings, std::string_view path) {
  const auto first = settings.values.lower_bound(path);
  return first != settings.values.end() && first->first.starts_with(path);
}

// NVIDIA's device plugin omits feature discovery's section, even if the file has it.
Json flags_to_json(const Settings& settings, Program program) {
  Json json = keys_to_json(settings, "flags.", kTop);
  // An unset device root is the driver root.
  const auto* root = settings.get<std::string>("flags.nvidiaDriverRoot");
  const auto* dev_root = settings.get<std::string>("flags.nvidiaDevRoot");
  if (root != nullptr && dev_root != nullptr && dev_root->empty()) {
    json["nvidiaDevRoot"] = *root;
  }
  if (any_under(settings, "flags.plugin.")) {
    json["plugin"] = keys_to_json(settings, "flags.plugin.", kPlugin);
  }
  if (program != Program::kAgent && any_under(settings, "flags.gfd.")) {
    json["gfd"] = keys_to_json(settings, "flags.gfd.", kGfd);
  }
  return json;
}

Json patterns_to_json(const std::vector<FilePattern>& patterns) {
  Json json = Json::array();
  for (const auto& pattern : patterns) {
    json.push_back({{"pattern", pattern.value.pattern}, {"name", pattern.value.name.value}});
  }
  return json;
}

// NVIDIA's plugin replaces empty resources by its defaults. With strategy mixed it also lists every
// profile of the machine: with_mig_resources().
Json resources_to_json(const Settings& settings, Program program) {
  const Json whole = {{"pattern", "*"}, {"name", "nvidia.com/gpu"}};
  const bool plugin = program == Program::kAgent;
  Json json = {{"gpus", patterns_to_json(settings.gpus)}};
  if (settings.gpus.empty()) json["gpus"] = plugin ? Json::array({whole}) : Json(nullptr);
  const auto* strategy = settings.get<std::string>("flags.migStrategy");
  if (!settings.migs.empty()) {
    json["mig"] = patterns_to_json(settings.migs);
  } else if (plugin && strategy != nullptr && *strategy == "single") {
    json["mig"] = Json::array({whole});
  }
  return json;
}

struct DevicesToJson {
  Json operator()(const AllDevices&) const { return "all"; }
  Json operator()(const DeviceCount& count) const { return count.count; }
  Json operator()(const DeviceList& list) const { return list.items; }
};

// `fail`: the value of an unset failRequestsGreaterThanOne; nullopt: omitted.
Json sharing_to_json(const FileSharing& sharing, std::optional<bool> fail = {}) {
  Json json = Json::object();
  if (sharing.rename_by_default) json["renameByDefault"] = true;
  if (sharing.fail_requests_greater_than_one) fail = sharing.fail_requests_greater_than_one;
  if (fail) json["failRequestsGreaterThanOne"] = *fail;
  for (const auto& resource : sharing.resources) {
    Json item = {{"name", resource.name.value}};
    if (resource.rename) item["rename"] = resource.rename->value;
    item["devices"] = std::visit(DevicesToJson{}, resource.devices);
    item["replicas"] = resource.replicas;
    json["resources"].push_back(std::move(item));
  }
  return json;
}

Json imex_to_json(const Settings& settings) {
  Json json = Json::object();
  const auto* ids = settings.get<std::vector<std::int64_t>>("imex.channelIDs");
  if (ids != nullptr && !ids->empty()) json["channelIDs"] = *ids;
  const auto* required = settings.get<bool>("imex.required");
  if (required != nullptr && *required) json["required"] = true;
  return json;
}

// The written limits, in one spelling.
void write_limits(const FileLimits& limits, Json& json) {
  if (limits.name) json["name"] = limits.name->value;
  if (limits.enforcement) json["enforcement"] = to_string(*limits.enforcement);
  if (limits.memory) json["memory"] = to_text(*limits.memory);
  if (limits.memory_hard) json["memoryHard"] = to_text(*limits.memory_hard);
  if (limits.compute) json["compute"] = to_text(*limits.compute);
  if (limits.oversubscribe) json["oversubscribe"] = *limits.oversubscribe;
  if (limits.policy) json["policy"] = to_string(*limits.policy);
  if (limits.priority_classes) {
    Json classes = Json::array();
    for (const auto& [name, value] : *limits.priority_classes) {
      classes.push_back({{"name", name}, {"class", to_string(value)}});
    }
    json["priorityClasses"] = std::move(classes);
  }
  if (limits.priority) json["class"] = to_string(*limits.priority);
  if (limits.unregistered) json["unregistered"] = to_string(*limits.unregistered);
  if (limits.kernel_limits) json["kernelLimits"] = *limits.kernel_limits;
  if (limits.runtime_hook) json["runtimeHook"] = *limits.runtime_hook;
}

Json limits_to_json(const FileLimitTable& table) {
  Json json = Json::object();
  write_limits(table.general, json);
  for (const auto& entry : table.resources) {
    Json item = Json::object();
    write_limits(entry, item);
    json["resources"].push_back(std::move(item));
  }
  return json;
}

Json mps_to_json(const FileMps& mps) {
  Json json = Json::object();
  if (mps.protocol) json["protocol"] = *mps.protocol;
  if (!mps.sm_partitions) return json;
  const int* chunks = std::get_if<int>(&*mps.sm_partitions);
  const bool equal = std::holds_alternative<EqualChunks>(*mps.sm_partitions);
  json["smPartitions"] = chunks != nullptr ? Json(*chunks) : Json(equal ? "equal" : "none");
  return json;
}

}  // namespace

std::string to_json(const Settings& settings, Program program) {
  Json json = {{"version", "v1"}};
  json["flags"] = flags_to_json(settings, program);
  json["resources"] = resources_to_json(settings, program);
  json["sharing"]["timeSlicing"] =
      settings.time_slicing ? sharing_to_json(*settings.time_slicing) : Json::object();
  if (settings.mps) json["sharing"]["mps"] = sharing_to_json(*settings.mps, true);
  json["imex"] = imex_to_json(settings);
  if (settings.honor_ignored_fields) json["tranche"]["honorIgnoredFields"] = true;
  if (settings.on_change) json["tranche"]["onChange"] = to_string(*settings.on_change);
  if (settings.limits) json["tranche"]["limits"] = limits_to_json(*settings.limits);
  if (settings.control) json["tranche"]["mps"] = mps_to_json(*settings.control);
  return json.lines();
}

std::string with_mig_resources(std::string_view json, std::span<const std::string> profiles) {
  const auto read = json::parse(json);
  if (!read || profiles.empty()) return std::string(json);
  auto value = Json::copy(*read);
  auto migs = Json::array();
  for (const auto& profile : profiles) {
    auto name = "nvidia.com/mig-" + profile;
    std::ranges::replace(name, '+', '.');
    migs.push_back({{"pattern", profile}, {"name", name}});
  }
  value["resources"]["mig"] = std::move(migs);
  return value.lines();
}

}  // namespace tranche::config
