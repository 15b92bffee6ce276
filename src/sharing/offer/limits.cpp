#include "offer/limits.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "offer/memory_enforcer.h"

namespace tranche::offer {
namespace {

using config::EqualPart;
using config::Limits;
using config::NoLimit;
using config::Percent;

// One result from several alternatives of a std::variant.
template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};

constexpr Bytes whole_mib(std::uint64_t bytes) { return Bytes::from_mib(bytes >> 20U); }

// The memory of one tranche by `limit`; nullopt: no limit.
std::optional<Bytes> memory_part(const config::MemoryLimit& limit, const Device& device,
                                 int replicas) {
  using Part = std::optional<Bytes>;
  return std::visit(
      Overloaded{
          [](NoLimit) -> Part { return std::nullopt; },
          [](Bytes bytes) -> Part { return bytes; },
          [&](EqualPart) -> Part {
            if (replicas <= 1 && !device.shares_memory) return std::nullopt;
            return whole_mib(device.memory.value / static_cast<std::uint64_t>(replicas));
          },
          [&](Percent percent) -> Part {
            const bool alone = replicas <= 1 && !device.shares_memory;
            if (percent.permille == 1000 && alone) return std::nullopt;
            return whole_mib(device.memory.value * static_cast<std::uint64_t>(percent.permille) /
                             1000);
          },
      },
      limit);
}

// How far a container with `tranches` of a device, which was promised `part`, may borrow.
std::optional<Borrowing> borrowing_of(const Limits& rules, const Device& device, int tranches,
                                      int replicas, Bytes part) {
  if (rules.enforcement != Enforcement::kElastic || !rules.memory_hard) return std::nullopt;
  const auto each = std::min(
      device.memory, memory_part(*rules.memory_hard, device, replicas).value_or(device.memory));
  const auto hard =
      std::min(device.memory, Bytes{each.value * static_cast<std::uint64_t>(tranches)});
  if (hard <= part) return std::nullopt;
  return Borrowing{.hard = hard, .device = device.memory};
}

// The share of `tranches` together, in thousandths of the device's time; at least 1.
std::uint32_t share(const Limits& rules, int tranches, int replicas) {
  const auto* percent = std::get_if<Percent>(&rules.compute);
  const int permille =
      percent == nullptr ? 1000 * tranches / replicas : percent->permille * tranches;
  return static_cast<std::uint32_t>(std::clamp(permille, 1, 1000));
}

DeviceLimits device_limits(const Limits& rules, const Device& device, int tranches, int replicas) {
  DeviceLimits limits{.uuid = device.uuid, .weight = share(rules, tranches, replicas)};
  if (auto part = memory_part(rules.memory, device, replicas)) {
    part->value *= static_cast<std::uint64_t>(tranches);
    const bool all = tranches >= replicas && std::holds_alternative<EqualPart>(rules.memory);
    const bool more = device.memory.value > 0 && *part >= device.memory;
    // The whole device as the part needs no limit, because the hardware is one, unless its memory
    // is shared.
    if (device.shares_memory || (!all && !more)) {
      limits.memory = part;
      limits.borrowing = borrowing_of(rules, device, tranches, replicas, *part);
    }
  }
  if (!std::holds_alternative<NoLimit>(rules.compute) && limits.weight < 1000) {
    limits.permille = limits.weight;
  }
  return limits;
}

// The index of the device that `id` is a tranche of; nullopt: it is not offered.
std::optional<std::size_t> device_of(const ResourceOffer& offer, const std::string& id) {
  const auto uuid = device_uuid_of(id);
  const auto found = std::ranges::find(offer.devices, uuid, &Device::uuid);
  if (found == offer.devices.end()) return std::nullopt;
  const auto index = static_cast<std::size_t>(found - offer.devices.begin());
  const int replicas = offer.limits->replicas[index];
  if (replicas <= 1) return id == uuid ? std::optional(index) : std::nullopt;
  int replica = -1;
  const auto* end = id.data() + id.size();
  std::from_chars(id.data() + std::min(uuid.size() + 2, id.size()), end, replica);
  const bool known = replica >= 0 && replica < replicas && id == replica_id(uuid, replica);
  return known ? std::optional(index) : std::nullopt;
}

std::string tranches_of(int count, const std::string& part) {
  return fmt::format("{} tranche{} of {}", count, count == 1 ? "" : "s", part);
}

// "4 tranches of 8Gi are more than <...>; lower ..."
std::string too_much(int replicas, const std::string& part, const std::string& than,
                     std::string_view key) {
  return fmt::format("{} {} more than {}; lower `{}` or `replicas`, or say `oversubscribe: true`",
                     tranches_of(replicas, part), replicas == 1 ? "is" : "are", than, key);
}

std::string objection_to_borrowing(const Limits& rules, const Device& device, int replicas) {
  if (rules.enforcement != Enforcement::kElastic || !rules.memory_hard) return {};
  if (device.memory.value == 0) {
    return fmt::format(
        "the driver does not tell how much memory {} has, so none can be lent; "
        "remove `memoryHard`",
        name_of(device));
  }
  const auto part = memory_part(rules.memory, device, replicas);
  const auto hard = memory_part(*rules.memory_hard, device, replicas);
  if (!part || !hard || *hard >= std::min(*part, device.memory)) return {};
  return fmt::format("`memoryHard` {} is less than `memory` {} of {}; raise it, or remove it",
                     config::to_text(*rules.memory_hard), config::to_text(rules.memory),
                     name_of(device));
}

std::string names_of(const Offer& offer) {
  std::vector<std::string_view> names;
  names.reserve(offer.resources.size() + offer.withheld.size());
  for (const auto& resource : offer.resources) names.push_back(resource.name.value);
  for (const auto& withheld : offer.withheld) names.push_back(withheld.name.value);
  return names.empty() ? "no GPU resource" : fmt::format("{}", fmt::join(names, ", "));
}

void warn_of_strangers(const config::LimitTable& table, Offer& offer) {
  for (const auto& entry : table.resources) {
    const auto withheld = std::ranges::find(offer.withheld, entry.name, &Withheld::name);
    if (offer.find(entry.name) != nullptr || withheld != offer.withheld.end()) continue;
    const auto renamed = std::ranges::find(offer.resources, entry.name, &ResourceOffer::base);
    offer.warnings.push_back(fmt::format(
        "limits of {} (line {}): no such resource on this node (it has {}), so the entry does "
        "nothing; {}",
        entry.name.value, entry.line, names_of(offer),
        renamed == offer.resources.end()
            ? "correct the name, or ignore this if other nodes use the entry"
            : fmt::format("write the name as advertised, {}", renamed->name.value)));
  }
}

// Chooses the enforcer of each device's memory. `instead` says why it is not the kernel where the
// kernel was asked for.
void choose_enforcers(const gpu::Machine& machine, ResourceOffer& resource) {
  OfferLimits& limits = *resource.limits;
  std::string why;
  for (std::size_t i = 0; i < resource.devices.size(); ++i) {
    const Device& device = resource.devices[i];
    const auto objection = limits.rules.wants_kernel() ? kernel_objection(machine, device) : "";
    const auto enforcer = choose_enforcer(
        limits.rules,
        {.is_own_instance = device.mig && !device.shares_memory && limits.replicas[i] <= 1,
         .by_kernel = objection.empty(),
         .by_mps = resource.sharing == config::SharingStrategy::kMps});
    limits.enforcers.push_back(enforcer);
    if (enforcer != MemoryEnforcer::kMig && why.empty()) why = objection;
  }
  if (why.empty()) return;
  limits.instead = fmt::format("memory of {} is kept by {}, not by kernel limits: {}",
                               resource.name.value, described(weakest(limits.enforcers)), why);
}

void withhold(Offer& offer, const std::string& reason, auto is_concerned) {
  std::erase_if(offer.resources, [&](const ResourceOffer& resource) {
    if (!is_concerned(resource)) return false;
    offer.withheld.push_back({resource.name, reason});
    return true;
  });
}

// CUDA uses one instance of such a GPU, which is not a device that the limiter knows.
void warn_of_mig_mode(const gpu::Machine& machine, const ResourceOffer& resource, Offer& offer) {
  for (const auto& device : resource.devices) {
    const auto* gpu = device.mig ? nullptr : gpu::find_gpu(machine, {device.gpu_uuid});
    if (gpu == nullptr || !gpu->mig_enabled()) continue;
    offer.warnings.push_back(
        fmt::format("{} is in MIG mode and is offered whole: CUDA uses one of its instances, which "
                    "the limits of {} do not reach; set migStrategy to mixed or single, or disable "
                    "MIG",
                    name_of(device), resource.name.value));
  }
}

}  // namespace

std::string objection(const Limits& rules, const Device& device, int replicas) {
  if (!rules.holds()) return {};
  const bool of_the_device = !std::holds_alternative<NoLimit>(rules.memory) &&
                             !std::holds_alternative<Bytes>(rules.memory);
  const auto part = memory_part(rules.memory, device, replicas);
  if (part && of_the_device && device.memory.value == 0) {
    return fmt::format("the driver does not tell how much memory {} has; write a quantity or none",
                       name_of(device));
  }
  if (part && part->value == 0) {
    return fmt::format("a part of {} would have less than 1 MiB; lower `replicas`",
                       name_of(device));
  }
  if (auto why = objection_to_borrowing(rules, device, replicas); !why.empty()) return why;
  if (rules.oversubscribe) return {};
  const auto count = static_cast<std::uint64_t>(replicas);
  if (part && device.memory.value > 0 && part->value > device.memory.value / count) {
    return too_much(replicas, config::to_text(rules.memory),
                    fmt::format("the {} MiB of {}", device.memory.mib(), name_of(device)),
                    "memory");
  }
  const auto* percent = std::get_if<Percent>(&rules.compute);
  if (percent != nullptr && percent->permille * std::int64_t{replicas} > 1000) {
    return too_much(replicas, config::to_text(rules.compute),
                    fmt::format("the time of {}", name_of(device)), "compute");
  }
  return {};
}

std::string limits_objection(const config::LimitTable& table, const config::ResourceName& name,
                             const Device& device, int replicas) {
  const auto why = objection(table.of(name), device, replicas);
  if (why.empty()) return {};
  const auto* entry = table.find(name);
  return fmt::format("its limits (line {}) cannot be kept: {}",
                     entry == nullptr ? table.line : entry->line, why);
}

std::optional<GrantLimits> limits_for(const ResourceOffer& offer,
                                      std::span<const std::string> ids) {
  if (!offer.limits) return std::nullopt;
  std::vector<std::pair<std::size_t, int>> held;  // device, tranches
  for (const auto& id : ids) {
    const auto device = device_of(offer, id);
    if (!device) return std::nullopt;
    const auto known = std::ranges::find(held, *device, &std::pair<std::size_t, int>::first);
    if (known == held.end()) {
      held.emplace_back(*device, 1);
    } else {
      ++known->second;
    }
  }
  const auto& [rules, replicas, enforcers, instead] = *offer.limits;
  GrantLimits limits{.enforcement = rules.enforcement, .devices = {}};
  const bool by_class = rules.policy == config::SharePolicy::kPriority;
  if (by_class) limits.priority = rules.priority;
  // MPS runs the containers at the same time, each on its own multiprocessors. Compute is shared
  // that way, and turns would undo it. With the highest priority and without a cap, no container
  // waits for another.
  const bool side_by_side = offer.sharing == config::SharingStrategy::kMps && !by_class;
  if (side_by_side) limits.priority = Priority::kLatencyCritical;
  for (const auto& [device, tranches] : held) {
    limits.devices.push_back(
        device_limits(rules, offer.devices[device], tranches, replicas[device]));
    auto& part = limits.devices.back();
    const auto enforcer = device < enforcers.size() ? enforcers[device] : MemoryEnforcer::kLimiter;
    if (part.memory || enforcer == MemoryEnforcer::kMig) part.enforcer = enforcer;
    if (side_by_side) part.permille.reset();
  }
  return limits;
}

void apply_limits(const config::LimitTable& table, const gpu::Machine& machine, Offer& offer) {
  warn_of_strangers(table, offer);
  for (ResourceOffer& resource : offer.resources) {
    const auto& rules = table.of(resource.name);
    if (!rules.on()) continue;
    resource.limits = OfferLimits{rules, tranche_counts(resource)};
    choose_enforcers(machine, resource);
  }
  for (const ResourceOffer& resource : offer.resources) {
    if (resource.limits && !resource.limits->instead.empty()) {
      offer.warnings.push_back(resource.limits->instead);
    }
    if (resource.limits && resource.limits->rules.holds()) {
      warn_of_mig_mode(machine, resource, offer);
    }
  }
}

void withhold_limited(Offer& offer, const std::string& reason) {
  withhold(offer, reason, [](const ResourceOffer& one) { return one.limits.has_value(); });
}

void withhold_hooked(Offer& offer, const std::string& reason) {
  withhold(offer, reason, has_runtime_hook);
}

bool has_runtime_hook(const ResourceOffer& offer) {
  return offer.limits && offer.limits->rules.runtime_hook;
}

}  // namespace tranche::offer
