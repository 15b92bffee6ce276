#include "dra/lowering.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <numeric>

namespace tranche::dra {
namespace {

using Devices = std::span<const ConfiguredDevice>;
using Numbers = std::vector<std::size_t>;  // of devices

constexpr std::uint32_t kPerPercent = 10;  // thousandths

struct Configuration {
  const cluster::ClaimConfig* of;
  ClaimSettings settings;
};

std::string whose(const cluster::ClaimConfig& config) {
  if (config.from_class) return "the DeviceClass's configuration";
  if (config.requests.empty()) return "the claim's configuration";
  return fmt::format("the claim's configuration for {}", fmt::join(config.requests, ", "));
}

bool names(const cluster::ClaimConfig& config, const ConfiguredDevice& device) {
  const std::string_view request = device.request;
  const auto base = request.substr(0, request.find('/'));
  return std::ranges::any_of(config.requests,
                             [&](const std::string& one) { return one == request || one == base; });
}

// Configurations of requests without devices of this node are not read.
Result<std::vector<Configuration>> read_all(const cluster::ResourceClaim& claim, Devices devices,
                                            std::string_view driver) {
  std::vector<Configuration> all;
  for (const auto& config : claim.configs) {
    const auto is_for = [&](const ConfiguredDevice& device) {
      return config.requests.empty() || names(config, device);
    };
    if (config.driver != driver || std::ranges::none_of(devices, is_for)) continue;
    auto settings = parse_settings(config.parameters);
    if (!settings) {
      return std::unexpected(std::move(settings).error().with_context(whose(config)));
    }
    all.push_back({&config, *std::move(settings)});
  }
  return all;
}

// Kubernetes writes the names of requests into a DeviceClass's; its author cannot.
bool is_for(const Configuration& one, const ConfiguredDevice& device) {
  const bool named = one.of->requests.empty() || names(*one.of, device);
  return named && one.settings.kind == device.kind;
}

Result<void> check_kind(const Configuration& one, const ConfiguredDevice& device) {
  if (!names(*one.of, device) || one.settings.kind == device.kind) return {};
  const bool for_instances = one.settings.kind == ClaimSettings::Kind::kMig;
  return fail(Code::kInvalidArgument,
              fmt::format("{} is a {}, and {} is a {}", whose(*one.of),
                          for_instances ? "MigDeviceConfig" : "GpuConfig", device.name,
                          for_instances ? "whole GPU" : "MIG instance"),
              for_instances ? "write a GpuConfig for it" : "write a MigDeviceConfig for it");
}

// The claim's configuration that counts for each device; null: none.
Result<std::vector<const Configuration*>> chosen(const std::vector<Configuration>& all,
                                                 Devices devices) {
  std::vector<const Configuration*> result;
  for (const auto& device : devices) {
    result.push_back(nullptr);
    for (auto one = all.rbegin(); one != all.rend() && result.back() == nullptr; ++one) {
      if (one->of->from_class) continue;
      TRY(check_kind(*one, device));
      if (is_for(*one, device)) result.back() = &*one;
    }
  }
  return result;
}

// Where `key` is in `numbers`, which are in the order of UUIDs.
std::optional<std::size_t> find(std::string_view key, const Numbers& numbers, Devices devices) {
  std::size_t index = 0;
  const auto* end = key.data() + key.size();
  const auto [stop, error] = std::from_chars(key.data(), end, index);
  if (error == std::errc() && stop == end) {
    return index < numbers.size() ? std::optional(numbers[index]) : std::nullopt;
  }
  const auto found = std::ranges::find(numbers, key, [&](auto n) { return devices[n].uuid; });
  return found == numbers.end() ? std::nullopt : std::optional(*found);
}

template <class T>
void lower(std::optional<T>& value, const std::optional<T>& by) {
  if (by && (!value || *by < *value)) value = by;
}

// Lowers `most`, an entry for each device, by the memory of single devices.
Result<void> apply_each(const Configuration& one, const Numbers& numbers, Devices devices,
                        std::vector<Most>& most) {
  std::vector<Most> own(most.size());
  for (const auto& [key, memory] : one.settings.memory_of) {
    const auto number = find(key, numbers, devices);
    if (number) {
      lower(own[*number].memory, std::optional(memory));
    } else if (!one.of->from_class) {
      return fail(Code::kInvalidArgument,
                  fmt::format("{}: defaultPerDevicePinnedMemoryLimit names {}, and it is for {} "
                              "device{}",
                              whose(*one.of), key, numbers.size(), numbers.size() == 1 ? "" : "s"),
                  "write the UUID of one of its requests' devices, or an index from 0");
    }
  }
  for (const auto number : numbers) {
    lower(most[number].memory, own[number].memory ? own[number].memory : one.settings.memory);
  }
  return {};
}

// `numbers`: the devices that the configuration is for.
Result<void> apply(const Configuration& one, Numbers numbers, Devices devices,
                   std::vector<Most>& most) {
  std::ranges::stable_sort(numbers, {}, [&](auto n) { return devices[n].uuid; });
  for (const auto number : numbers) {
    if (!one.settings.threads) continue;
    const auto permille = static_cast<std::uint32_t>(*one.settings.threads) * kPerPercent;
    lower(most[number].permille, std::optional(permille));
  }
  return apply_each(one, numbers, devices, most);
}

void lower(DeviceLimits& limits, const Most& most, Bytes all) {
  if (most.memory && *most.memory < limits.memory.value_or(all)) limits.memory = most.memory;
  if (most.permille && *most.permille < limits.permille.value_or(100 * kPerPercent)) {
    limits.permille = most.permille;
    limits.weight = std::min(limits.weight, *most.permille);
  }
}

}  // namespace

Result<std::vector<Lowering>> lowerings_of(const cluster::ResourceClaim& claim, Devices devices,
                                           std::string_view driver) {
  ASSIGN_OR_RETURN(const auto all, read_all(claim, devices, driver));
  ASSIGN_OR_RETURN(const auto of_claim, chosen(all, devices));
  std::vector<Most> by_claim(devices.size());
  std::vector<Most> by_class(devices.size());
  for (const auto& one : all) {
    Numbers numbers;
    for (std::size_t n = 0; n < devices.size(); ++n) {
      if (one.of->from_class ? is_for(one, devices[n]) : of_claim[n] == &one) numbers.push_back(n);
    }
    TRY(apply(one, std::move(numbers), devices, one.of->from_class ? by_class : by_claim));
  }
  std::vector<Lowering> result;
  for (std::size_t n = 0; n < devices.size(); ++n) result.push_back({by_claim[n], by_class[n]});
  return result;
}

Result<void> check_only_lowers(const DeviceLimits& limits, const Most& by_claim) {
  constexpr auto kRemedy =
      "a configuration only lowers; ask for more in the request's capacity, or leave it out";
  if (by_claim.memory && limits.memory && *by_claim.memory > *limits.memory) {
    return fail(Code::kInvalidArgument,
                fmt::format("its configuration asks for {} MiB of memory, and its share has {} MiB",
                            by_claim.memory->mib(), limits.memory->mib()),
                kRemedy);
  }
  if (by_claim.permille && limits.permille && *by_claim.permille > *limits.permille) {
    return fail(Code::kInvalidArgument,
                fmt::format("its configuration asks for {} % of active threads, and its share has "
                            "{} % of compute",
                            *by_claim.permille / kPerPercent, *limits.permille / kPerPercent),
                kRemedy);
  }
  return {};
}

DeviceLimits lowered(DeviceLimits limits, const Lowering& lowering, Bytes all) {
  lower(limits, lowering.by_class, all);
  lower(limits, lowering.by_claim, all);
  return limits;
}

}  // namespace tranche::dra
