#include "config/config.h"

#include <algorithm>
#include <array>

namespace tranche::config {
namespace {

bool any_shared(const ReplicatedResources& list) {
  return std::ranges::any_of(list.resources, [](const auto& r) { return r.replicas > 1; });
}

constexpr std::array kMigStrategies = {MigStrategy::kNone, MigStrategy::kSingle,
                                       MigStrategy::kMixed};
constexpr std::array kListStrategies = {
    DeviceListStrategy::kEnvvar, DeviceListStrategy::kVolumeMounts,
    DeviceListStrategy::kCdiAnnotations, DeviceListStrategy::kCdiCri};
constexpr std::array kIdStrategies = {DeviceIdStrategy::kUuid, DeviceIdStrategy::kIndex};
constexpr std::array kSharePolicies = {AllocationPolicy::kDistributed, AllocationPolicy::kPacked};
constexpr std::array kDiscoveryStrategies = {DiscoveryStrategy::kAuto, DiscoveryStrategy::kNvml,
                                             DiscoveryStrategy::kTegra, DiscoveryStrategy::kVfio};

template <class T, std::size_t N>
std::optional<T> value_of(const std::array<T, N>& values, std::string_view text) {
  const auto found =
      std::ranges::find_if(values, [&](T value) { return to_string(value) == text; });
  if (found == values.end()) return std::nullopt;
  return *found;
}

}  // namespace

std::string ResourceName::base() const {
  return value.starts_with(kResourcePrefix) ? value.substr(kResourcePrefix.size()) : value;
}

const ReplicatedResources* Sharing::active() const {
  if (mps) return &*mps;
  return time_slicing ? &*time_slicing : nullptr;
}

SharingStrategy Sharing::strategy() const {
  const auto* list = active();
  if (list == nullptr || !any_shared(*list)) return SharingStrategy::kNone;
  return mps ? SharingStrategy::kMps : SharingStrategy::kTimeSlicing;
}

bool matches_pattern(const std::string& pattern, const std::string& text) {
  // Greedy matching: on a mismatch, go back to the last `*` and let it match one more character.
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string::npos;
  std::size_t retry = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      retry = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string::npos) {
      p = star + 1;
      t = ++retry;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string::npos;
}

bool Config::uses(DeviceListStrategy strategy) const {
  return std::ranges::find(flags.plugin.device_list_strategies, strategy) !=
         flags.plugin.device_list_strategies.end();
}

bool Config::uses_cdi() const {
  return uses(DeviceListStrategy::kCdiAnnotations) || uses(DeviceListStrategy::kCdiCri);
}

std::string_view to_string(MigStrategy value) {
  switch (value) {
    case MigStrategy::kNone:
      return "none";
    case MigStrategy::kSingle:
      return "single";
    case MigStrategy::kMixed:
      return "mixed";
  }
  return "unknown";
}

std::string_view to_string(DeviceListStrategy value) {
  switch (value) {
    case DeviceListStrategy::kEnvvar:
      return "envvar";
    case DeviceListStrategy::kVolumeMounts:
      return "volume-mounts";
    case DeviceListStrategy::kCdiAnnotations:
      return "cdi-annotations";
    case DeviceListStrategy::kCdiCri:
      return "cdi-cri";
  }
  return "unknown";
}

std::string_view to_string(DeviceIdStrategy value) {
  return value == DeviceIdStrategy::kUuid ? "uuid" : "index";
}

std::string_view to_string(AllocationPolicy value) {
  return value == AllocationPolicy::kDistributed ? "distributed" : "packed";
}

std::string_view to_string(SharingStrategy value) {
  switch (value) {
    case SharingStrategy::kNone:
      return "none";
    case SharingStrategy::kTimeSlicing:
      return "time-slicing";
    case SharingStrategy::kMps:
      return "mps";
  }
  return "unknown";
}

std::string_view to_string(DiscoveryStrategy value) {
  switch (value) {
    case DiscoveryStrategy::kAuto:
      return "auto";
    case DiscoveryStrategy::kNvml:
      return "nvml";
    case DiscoveryStrategy::kTegra:
      return "tegra";
    case DiscoveryStrategy::kVfio:
      return "vfio";
  }
  return "unknown";
}

std::string_view to_string(OnChange value) {
  return value == OnChange::kAsNvidia ? "asNvidia" : "withhold";
}

std::optional<MigStrategy> mig_strategy_of(std::string_view text) {
  return value_of(kMigStrategies, text);
}
std::optional<DeviceListStrategy> device_list_strategy_of(std::string_view text) {
  return value_of(kListStrategies, text);
}
std::optional<DeviceIdStrategy> device_id_strategy_of(std::string_view text) {
  return value_of(kIdStrategies, text);
}
std::optional<AllocationPolicy> allocation_policy_of(std::string_view text) {
  return value_of(kSharePolicies, text);
}
std::optional<DiscoveryStrategy> discovery_strategy_of(std::string_view text) {
  return value_of(kDiscoveryStrategies, text);
}

}  // namespace tranche::config
