#include "config/file/fields.h"

#include <algorithm>
#include <array>

namespace tranche::config {
namespace {

constexpr auto kFields = std::to_array<FieldSpec>({
    {"version", "string", "v1", "v1, or left out"},
    {"resources.gpus[].pattern", "string", "", "product name, `*` stands for anything"},
    {"resources.gpus[].name", "resource name", "", "resource under which such GPUs are advertised"},
    {"resources.mig[].pattern", "string", "", "MIG profile, `*` stands for anything"},
    {"resources.mig[].name", "resource name", "",
     "resource under which such MIG devices are advertised"},
    {"sharing.timeSlicing.renameByDefault", "bool", "false",
     "advertise replicas as `<name>.shared`"},
    {"sharing.timeSlicing.failRequestsGreaterThanOne", "bool", "false",
     "refuse a container that asks for more than one replica"},
    {"sharing.timeSlicing.resources[].name", "resource name", "", "resource to share (required)"},
    {"sharing.timeSlicing.resources[].rename", "resource name", "",
     "name of the replicas; ignored unless tranche.honorIgnoredFields"},
    {"sharing.timeSlicing.resources[].devices", "all, a count, or a list", "all",
     "which devices are shared; ignored unless tranche.honorIgnoredFields"},
    {"sharing.timeSlicing.resources[].replicas", "int", "",
     "replicas of each device (required); 1: not shared"},
    {"sharing.mps.renameByDefault", "bool", "false", "advertise replicas as `<name>.shared`"},
    {"sharing.mps.failRequestsGreaterThanOne", "bool", "true",
     "refuse a container that asks for more than one replica"},
    {"sharing.mps.resources[].name", "resource name", "", "resource to share (required)"},
    {"sharing.mps.resources[].rename", "resource name", "",
     "name of the replicas; ignored unless tranche.honorIgnoredFields"},
    {"sharing.mps.resources[].devices", "all, a count, or a list", "all",
     "which devices are shared; ignored unless tranche.honorIgnoredFields"},
    {"sharing.mps.resources[].replicas", "int", "",
     "replicas of each device (required); 1: not shared"},
    {"tranche.honorIgnoredFields", "bool", "false",
     "honour `rename`, `devices` and `resources`, which NVIDIA's programs read and ignore"},
    {"tranche.onChange", "withhold or asNvidia", "withhold",
     "a GPU that containers hold under an earlier promise: withheld until they end, or handed out "
     "at once, as by NVIDIA's plugin"},
    {"tranche.mps.protocol", "2 or 3", "2",
     "protocol of NVIDIA's MPS control daemons; 3 where the driver has it (r615), else 2"},
    {"tranche.mps.smPartitions", "none, equal, or a number of chunks", "none",
     "static SM partition of each replica, where driver and GPU have them (CUDA 13.1, Ampere)"},
    {"tranche.limits.enforcement", "off, account, strict or elastic", "off",
     "how limits are kept on resources that no entry of `resources` names"},
    {"tranche.limits.memory", "equal, a quantity, a percentage, or none", "equal",
     "device memory of each tranche"},
    {"tranche.limits.memoryHard", "equal, a quantity, a percentage, or none", "",
     "up to here idle memory may be borrowed, with enforcement elastic; left out: none is"},
    {"tranche.limits.compute", "equal, a percentage, or none", "equal",
     "device time of each tranche"},
    {"tranche.limits.oversubscribe", "bool", "false",
     "tranches may be promised more together than the device has"},
    {"tranche.limits.policy", "timeSlice or priority", "timeSlice",
     "who goes first: by weight, or by class"},
    {"tranche.limits.class", "latency-critical, normal or best-effort", "normal",
     "class of the containers, with policy priority"},
    {"tranche.limits.priorityClasses[].name", "string", "", "a PriorityClass of Pods (required)"},
    {"tranche.limits.priorityClasses[].class", "latency-critical, normal or best-effort", "",
     "class of their containers, in place of `class` (required)"},
    {"tranche.limits.unregistered", "event or evict", "event",
     "what becomes of a container that uses a limited device past the limiter"},
    {"tranche.limits.kernelLimits", "bool", "false",
     "memory is kept by the driver, by control group, where node and GPU can (r615 and later)"},
    {"tranche.limits.runtimeHook", "bool", "false",
     "the container runtime asks the arbiter before a container starts (by CDI)"},
    {"tranche.limits.resources[].name", "resource name", "",
     "resource, as it is advertised (required)"},
    {"tranche.limits.resources[].enforcement", "off, account, strict or elastic", "",
     "this and what follows: left out, as in general"},
    {"tranche.limits.resources[].memory", "equal, a quantity, a percentage, or none", "",
     "device memory of each tranche"},
    {"tranche.limits.resources[].memoryHard", "equal, a quantity, a percentage, or none", "",
     "up to here idle memory may be borrowed, with enforcement elastic"},
    {"tranche.limits.resources[].compute", "equal, a percentage, or none", "",
     "device time of each tranche"},
    {"tranche.limits.resources[].oversubscribe", "bool", "",
     "tranches may be promised more together than the device has"},
    {"tranche.limits.resources[].policy", "timeSlice or priority", "",
     "who goes first: by weight, or by class"},
    {"tranche.limits.resources[].class", "latency-critical, normal or best-effort", "",
     "class of the containers, with policy priority"},
    {"tranche.limits.resources[].priorityClasses[].name", "string", "",
     "a PriorityClass of Pods (required)"},
    {"tranche.limits.resources[].priorityClasses[].class",
     "latency-critical, normal or best-effort", "",
     "class of their containers, in place of `class` (required)"},
    {"tranche.limits.resources[].unregistered", "event or evict", "",
     "what becomes of a container that uses a limited device past the limiter"},
    {"tranche.limits.resources[].kernelLimits", "bool", "",
     "memory is kept by the driver, by control group, where node and GPU can (r615 and later)"},
    {"tranche.limits.resources[].runtimeHook", "bool", "",
     "the container runtime asks the arbiter before a container starts (by CDI)"},
});

// Adds the first key of `path` below `parent`, without the "[]" of a list.
void add_key(std::string_view path, std::string_view parent, std::vector<std::string_view>& keys) {
  if (!parent.empty()) {
    if (!path.starts_with(parent) || path.size() <= parent.size() || path[parent.size()] != '.') {
      return;
    }
    path.remove_prefix(parent.size() + 1);
  }
  const auto key = path.substr(0, path.find_first_of(".["));
  if (!key.empty() && std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
}

}  // namespace

std::span<const FieldSpec> file_only_fields() { return kFields; }

std::vector<std::string_view> keys_under(std::string_view path) {
  std::vector<std::string_view> keys;
  if (path.empty()) add_key(kFields.front().path, path, keys);
  for (const auto& flag : flag_table()) add_key(flag.field, path, keys);
  for (const auto& field : kFields) add_key(field.path, path, keys);
  return keys;
}

const FlagSpec* flag_of_field(std::string_view path) {
  const auto flags = flag_table();
  const auto found = std::ranges::find(flags, path, &FlagSpec::field);
  return found == flags.end() || path.empty() ? nullptr : &*found;
}

}  // namespace tranche::config
