#include "config/file/settle.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/file/settle_limits.h"
#include "config/names.h"

namespace tranche::config {
namespace {

constexpr std::string_view kHonour =
    "set 'tranche: {honorIgnoredFields: true}' to have it honoured";

// A bare number in a file is nanoseconds, so a shorter time is nearly always meant in seconds.
constexpr auto kShortestSleep = std::chrono::seconds(1);

std::string at(const Settings& settings, int line, std::string_view field) {
  return fmt::format("{}:{}: {}", settings.file_name, line, field);
}

// One list of replicated resources, sharing.timeSlicing or sharing.mps.
class ListNeuter {
 public:
  ListNeuter(const Settings& settings, std::string_view path, Problems& problems)
      : settings_(settings), path_(path), problems_(problems) {}

  void neuter(FileSharing& sharing) const {
    for (std::size_t i = 0; i < sharing.resources.size(); ++i) {
      auto& resource = sharing.resources[i];
      if (settings_.honor_ignored_fields) {
        check_devices(resource, i);
      } else {
        drop_devices(resource, i);
        drop_rename(resource, i);
      }
      if (resource.replicas == 1) {
        problems_.warn(where(resource.replicas_line, i, "replicas"),
                       fmt::format("1 replica means that {} is not shared (NVIDIA's plugin refuses "
                                   "it)",
                                   resource.name.value),
                       "write 2 or more to share it");
      } else if (sharing.rename_by_default && !resource.rename) {
        rename(resource, i);
      }
    }
  }

 private:
  std::string where(int line, std::size_t index, std::string_view field) const {
    return at(settings_, line, fmt::format("{}.resources[{}].{}", path_, index, field));
  }

  void check_devices(const FileResource& resource, std::size_t index) const {
    const auto* list = std::get_if<DeviceList>(&resource.devices);
    if (list == nullptr || !list->items.empty()) return;
    problems_.error(where(resource.devices_line, index, "devices"), "the list of devices is empty",
                    "name devices, write all, or remove the entry");
  }

  void drop_devices(FileResource& resource, std::size_t index) const {
    if (resource.devices == Devices(AllDevices{})) return;
    problems_.warn(where(resource.devices_line, index, "devices"),
                   fmt::format("Customizing the 'devices' field in {}.resources is not yet "
                               "supported in the config. Ignoring...",
                               path_),
                   kHonour);
    resource.devices = AllDevices{};
  }

  void drop_rename(FileResource& resource, std::size_t index) const {
    if (!resource.rename) return;
    problems_.warn(where(resource.rename_line, index, "rename"),
                   fmt::format("Setting the 'rename' field in {}.resources is not yet supported in "
                               "the config. Ignoring...",
                               path_),
                   kHonour);
    resource.rename.reset();
  }

  void rename(FileResource& resource, std::size_t index) const {
    auto name = parse_resource_name(resource.name.value + ".shared");
    if (name) {
      resource.rename = *std::move(name);
    } else {
      problems_.error(where(resource.line, index, "name"), name.error().what,
                      "shorten the name, or set renameByDefault: false");
    }
  }

  const Settings& settings_;
  std::string_view path_;
  Problems& problems_;
};

// The first matching pattern counts.
void warn_of_idle_patterns(const std::vector<FilePattern>& patterns, std::string_view field,
                           const Settings& settings, Problems& problems) {
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const auto& own = patterns[i].value.pattern;
    const auto where = at(settings, patterns[i].line, fmt::format("{}[{}]", field, i));
    if (own.empty()) {
      problems.warn(where, "the pattern is empty, so it matches nothing", "write a name, or '*'");
      continue;
    }
    const auto end = patterns.begin() + static_cast<std::ptrdiff_t>(i);
    // A pattern that matches another pattern's text matches all that the other does.
    const auto above = std::find_if(patterns.begin(), end, [&](const FilePattern& one) {
      return matches_pattern(one.value.pattern, own);
    });
    if (above == end) continue;
    problems.warn(where,
                  fmt::format("'{}' matches nothing that '{}' above does not, and the first counts",
                              own.substr(0, 80), above->value.pattern.substr(0, 80)),
                  "move it up, or remove it");
  }
}

void neuter_patterns(std::vector<FilePattern>& patterns, std::string_view field,
                     const Settings& settings, Problems& problems) {
  if (settings.honor_ignored_fields) {
    return warn_of_idle_patterns(patterns, field, settings, problems);
  }
  if (patterns.empty()) return;
  problems.warn(at(settings, patterns.front().line, field),
                "Customizing the 'resources' field is not yet supported in the config. Ignoring...",
                kHonour);
  patterns.clear();
}

ReplicatedResources settle_list(const FileSharing& from, bool fail_default) {
  ReplicatedResources list{
      .rename_by_default = from.rename_by_default,
      .fail_requests_greater_than_one = from.fail_requests_greater_than_one.value_or(fail_default)};
  for (const auto& resource : from.resources) {
    list.resources.push_back({.name = resource.name,
                              .rename = resource.rename,
                              .devices = resource.devices,
                              .replicas = static_cast<int>(resource.replicas),
                              .line = resource.line});
  }
  return list;
}

// Copies settings to plain members; an unset one leaves its member unchanged.
class Taker {
 public:
  explicit Taker(const Settings& settings) : settings_(settings) {}

  template <class T>
  void take(std::string_view key, T& member) const {
    if (const auto* value = settings_.get<T>(key)) member = *value;
  }

  // Flags of other programs are not validated. An invalid text changes nothing.
  template <class T>
  void take_enum(std::string_view key, std::optional<T> (*parse)(std::string_view),
                 T& member) const {
    const auto* text = settings_.get<std::string>(key);
    const auto value = text == nullptr ? std::nullopt : parse(*text);
    if (value) member = *value;
  }

 private:
  const Settings& settings_;
};

PluginFlags settle_plugin(const Settings& settings) {
  PluginFlags flags;
  const Taker taker(settings);
  taker.take("flags.plugin.passDeviceSpecs", flags.pass_device_specs);
  taker.take_enum("flags.plugin.deviceIDStrategy", device_id_strategy_of, flags.device_id_strategy);
  taker.take("flags.plugin.cdiAnnotationPrefix", flags.cdi_annotation_prefix);
  taker.take("flags.plugin.nvidiaCTKPath", flags.nvidia_ctk_path);
  taker.take("flags.plugin.containerDriverRoot", flags.container_driver_root);
  taker.take_enum("flags.plugin.sharedDevicesAllocationPolicy", allocation_policy_of,
                  flags.shared_devices_allocation_policy);
  std::vector<std::string> strategies;
  taker.take("flags.plugin.deviceListStrategy", strategies);
  if (strategies.empty()) return flags;
  flags.device_list_strategies.clear();
  for (const auto& text : strategies) {
    if (const auto value = device_list_strategy_of(text)) {
      flags.device_list_strategies.push_back(*value);
    }
  }
  return flags;
}

GfdFlags settle_gfd(const Settings& settings) {
  GfdFlags flags;
  const Taker taker(settings);
  taker.take("flags.gfd.oneshot", flags.oneshot);
  taker.take("flags.gfd.noTimestamp", flags.no_timestamp);
  taker.take("flags.gfd.outputFile", flags.output_file);
  taker.take("flags.gfd.machineTypeFile", flags.machine_type_file);
  Interval interval{flags.sleep_interval};
  taker.take("flags.gfd.sleepInterval", interval);
  flags.sleep_interval = interval.value;
  if (flags.sleep_interval && *flags.sleep_interval < kShortestSleep) {
    flags.sleep_interval = kShortestSleep;
  }
  return flags;
}

Flags settle_flags(const Settings& settings) {
  Flags flags;
  const Taker taker(settings);
  taker.take_enum("flags.migStrategy", mig_strategy_of, flags.mig_strategy);
  taker.take("flags.failOnInitError", flags.fail_on_init_error);
  taker.take("flags.mpsRoot", flags.mps_root);
  taker.take("flags.nvidiaDriverRoot", flags.nvidia_driver_root);
  std::string dev_root;
  taker.take("flags.nvidiaDevRoot", dev_root);
  flags.nvidia_dev_root = dev_root.empty() ? flags.nvidia_driver_root : dev_root;
  taker.take("flags.gdrcopyEnabled", flags.gdrcopy_enabled);
  taker.take("flags.gdsEnabled", flags.gds_enabled);
  taker.take("flags.mofedEnabled", flags.mofed_enabled);
  taker.take("flags.useNodeFeatureAPI", flags.use_node_feature_api);
  taker.take_enum("flags.deviceDiscoveryStrategy", discovery_strategy_of,
                  flags.device_discovery_strategy);
  flags.plugin = settle_plugin(settings);
  flags.gfd = settle_gfd(settings);
  return flags;
}

Imex settle_imex(const Settings& settings) {
  Imex imex;
  const Taker taker(settings);
  taker.take("imex.required", imex.required);
  std::vector<std::int64_t> ids;
  taker.take("imex.channelIDs", ids);
  for (const auto id : ids) imex.channel_ids.push_back(static_cast<int>(id));
  return imex;
}

void warn_short_sleep(const Settings& settings, Problems& problems) {
  static constexpr std::string_view kKey = "flags.gfd.sleepInterval";
  const auto* interval = settings.get<Interval>(kKey);
  if (interval == nullptr || !interval->value || *interval->value >= kShortestSleep) return;
  problems.warn(settings.where(kKey),
                fmt::format("{} ns is too short and taken as 1s (a bare number is nanoseconds)",
                            interval->value->count()),
                "write a duration such as 60s");
}

void warn_idle_mps(const Settings& settings, Problems& problems) {
  const bool is_shared =
      settings.mps &&
      std::ranges::any_of(settings.mps->resources, [](auto& one) { return one.replicas > 1; });
  if (!settings.control || is_shared) return;
  problems.warn(at(settings, settings.control->line, "tranche.mps"),
                "nothing is shared by MPS, so this has no effect",
                "add sharing.mps, or remove the key");
}

void warn_idle_imex(const Settings& settings, Problems& problems) {
  static constexpr std::string_view kKey = "imex.required";
  const auto* required = settings.get<bool>(kKey);
  const auto* channels = settings.get<std::vector<std::int64_t>>("imex.channelIDs");
  const bool any = channels != nullptr && !channels->empty();
  if (required == nullptr || !*required || any) return;
  problems.warn(settings.where(kKey), "no channel is asked for, so this has no effect",
                "write channelIDs: [0], or remove the key");
}

void warn_no_strategy(const Settings& settings, Problems& problems) {
  static constexpr std::string_view kKey = "flags.plugin.deviceListStrategy";
  const auto* strategies = settings.get<std::vector<std::string>>(kKey);
  if (strategies == nullptr || !strategies->empty()) return;
  problems.warn(settings.where(kKey), "the list is empty, so envvar is used as if it were left out",
                "name strategies, or remove the key");
}

}  // namespace

void neuter(Settings& settings, Problems& problems) {
  neuter_patterns(settings.gpus, "resources.gpus", settings, problems);
  neuter_patterns(settings.migs, "resources.mig", settings, problems);
  if (settings.time_slicing) {
    ListNeuter(settings, "sharing.timeSlicing", problems).neuter(*settings.time_slicing);
  }
  if (settings.mps) ListNeuter(settings, "sharing.mps", problems).neuter(*settings.mps);
  if (settings.time_slicing && settings.mps) {
    problems.warn(
        at(settings, settings.time_slicing->line, "sharing.timeSlicing"),
        fmt::format("ignored, because sharing.mps in line {} is set too", settings.mps->line),
        "keep one of the two");
  }
  warn_short_sleep(settings, problems);
  warn_idle_mps(settings, problems);
  warn_idle_imex(settings, problems);
  warn_no_strategy(settings, problems);
  check_limits(settings, problems);
}

Config settle(const Settings& settings) {
  Config config{.flags = settle_flags(settings),
                .imex = settle_imex(settings),
                .tranche = {.honor_ignored_fields = settings.honor_ignored_fields}};
  for (const auto& pattern : settings.gpus) config.gpus.push_back(pattern.value);
  for (const auto& pattern : settings.migs) config.migs.push_back(pattern.value);
  if (settings.time_slicing) {
    config.sharing.time_slicing = settle_list(*settings.time_slicing, false);
  }
  if (settings.mps) config.sharing.mps = settle_list(*settings.mps, true);
  config.tranche.on_change = settings.on_change.value_or(OnChange::kWithhold);
  if (settings.limits) config.tranche.limits = settle_limits(*settings.limits);
  if (settings.control) {
    config.tranche.mps = {
        .protocol = settings.control->protocol.value_or(2),
        .sm_partitions = settings.control->sm_partitions.value_or(SmPartitions())};
  }
  return config;
}

}  // namespace tranche::config
