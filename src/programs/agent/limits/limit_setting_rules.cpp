#include "agent/limits/limit_setting_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "agent/limits/tenant_store.h"
#include "offer/claim_enforcers.h"

namespace tranche::agent {
namespace {

using cluster::LimitSetting;

constexpr std::uint32_t kAll = 1000;

struct Values {
  std::optional<config::MemoryLimit> memory;
  std::optional<config::ComputeLimit> compute;
  std::optional<Priority> priority;
};

std::unexpected<Error> refuse_setting(std::string_view what, std::string_view remedy) {
  return fail(Code::kInvalidArgument, std::string(what), std::string(remedy));
}

Result<Values> read(const LimitSetting& setting) {
  Values values;
  if (!setting.memory.empty()) {
    auto memory = config::parse_memory_setting(setting.memory);
    if (!memory) return std::unexpected(std::move(memory).error().with_context("memory"));
    values.memory = *memory;
  }
  if (!setting.compute.empty()) {
    auto compute = config::parse_compute_setting(setting.compute);
    if (!compute) return std::unexpected(std::move(compute).error().with_context("compute"));
    values.compute = *compute;
  }
  if (!setting.priority.empty()) {
    values.priority = priority_of(setting.priority);
    if (!values.priority) {
      return refuse_setting(fmt::format("class: '{}' is none", setting.priority),
                            "write latency-critical, normal or best-effort");
    }
  }
  return values;
}

// nullopt: no limit, also when it is all of a device that has no more anyway.
Result<std::optional<Bytes>> memory_of(const config::MemoryLimit& wanted,
                                       const offer::Device& device) {
  using Part = std::optional<Bytes>;
  if (const auto* bytes = std::get_if<Bytes>(&wanted)) {
    const bool all = device.memory.value > 0 && *bytes >= device.memory && !device.shares_memory;
    return all ? Part() : Part(*bytes);
  }
  const auto* percent = std::get_if<config::Percent>(&wanted);
  if (percent == nullptr) return Part();
  if (percent->permille >= static_cast<int>(kAll) && !device.shares_memory) return Part();
  if (device.memory.value == 0) {
    return fail(Code::kFailedPrecondition,
                fmt::format("the driver does not tell how much memory {} has", device.uuid),
                "write a quantity or none");
  }
  return Part(Bytes::from_mib(
      (device.memory.value * static_cast<std::uint64_t>(percent->permille) / kAll) >> 20U));
}

void set_compute(const config::ComputeLimit& wanted, DeviceLimits& limits) {
  const auto* percent = std::get_if<config::Percent>(&wanted);
  limits.permille.reset();
  if (percent == nullptr) return;  // no cap; the weight stays
  limits.weight = static_cast<std::uint32_t>(percent->permille);
  if (limits.weight < kAll) limits.permille = limits.weight;
}

std::string mib(const std::optional<Bytes>& memory) {
  return memory ? fmt::format("{} MiB", memory->mib()) : "no limit";
}

std::string percent(const std::optional<std::uint32_t>& permille) {
  return permille ? fmt::format("{:g}%", *permille / 10.0) : "no cap";
}

// The reason for an upper bound, for people.
struct Ceiling {
  std::string_view of;  // "the 5 MiB of the configuration, and ..."
  std::string_view remedy;
};
constexpr Ceiling kOfConfiguration{"the configuration, and a Pod's annotation only lowers",
                                   "ask the operator: tranche limit set"};
constexpr Ceiling kOfClaim{"the claim: the scheduler counts on the rest for others",
                           "make a claim for more"};
constexpr Ceiling kOfClaimsConfiguration{
    "the claim and its configuration, and a Pod's annotation only lowers",
    "change the claim, or ask the operator: tranche limit set"};

constexpr Ceiling kOfEnvironment{
    "the container's environment, with which it was started as a client of MPS",
    "start the container anew with a claim whose configuration asks for more"};

// kPermission, or `code`: `after` exceeds `most`.
Result<void> check_lowers(const DeviceLimits& most, const DeviceLimits& after,
                          const Ceiling& ceiling, Code code = Code::kPermission) {
  if (most.memory && (!after.memory || *after.memory > *most.memory)) {
    return fail(code,
                fmt::format("memory: {} is more than the {} of {}", mib(after.memory),
                            mib(most.memory), ceiling.of),
                std::string(ceiling.remedy));
  }
  if (most.permille ? !after.permille || *after.permille > *most.permille
                    : after.weight > most.weight) {
    return fail(code,
                fmt::format("compute: {} is more than the {} of {}", percent(after.permille),
                            percent(most.permille), ceiling.of),
                std::string(ceiling.remedy));
  }
  return {};
}

Result<void> check_memory(const DeviceLimits& before, const DeviceLimits& after,
                          const offer::Device& device, const PromisedElsewhere& elsewhere) {
  const bool lowers = !before.memory || (after.memory && *after.memory <= *before.memory);
  if (lowers || device.memory.value == 0) return {};
  const auto wanted = after.memory.value_or(device.memory);
  if (wanted <= device.memory && elsewhere.memory.value <= device.memory.value - wanted.value) {
    return {};
  }
  return fail(
      Code::kFailedPrecondition,
      fmt::format(
          "memory: {} MiB cannot be kept: {} has {} MiB, and {} MiB of them are promised to "
          "others or on offer",
          wanted.mib(), device.uuid, device.memory.mib(), elsewhere.memory.mib()),
      "lower others first, or set oversubscribe: true in the configuration");
}

Result<void> check_compute(const DeviceLimits& before, const DeviceLimits& after,
                           const PromisedElsewhere& elsewhere) {
  // Without a cap, only the weight is promised.
  if (!after.permille || !before.permille || *after.permille <= *before.permille) return {};
  if (*after.permille + elsewhere.permille <= kAll) return {};
  return fail(Code::kFailedPrecondition,
              fmt::format("compute: {:g}% cannot be kept: {:g}% of the time of {} are promised to "
                          "others or on offer",
                          *after.permille / 10.0, elsewhere.permille / 10.0, after.uuid),
              "lower others first, or set oversubscribe: true in the configuration");
}

}  // namespace

Result<limit::TenantLimits> with_setting(const limit::TenantLimits& promised,
                                         const LimitSetting& setting,
                                         const offer::ResourceOffer& resource,
                                         const std::map<std::string, PromisedElsewhere>& elsewhere,
                                         Raising raising) {
  ASSIGN_OR_RETURN(const auto values, read(setting));
  if (!resource.limits) {
    return fail(Code::kFailedPrecondition,
                fmt::format("{} has no limits on this node", resource.name.value),
                "write tranche.limits for it in the configuration");
  }
  const auto& rules = resource.limits->rules;
  if (values.priority && rules.policy != config::SharePolicy::kPriority) {
    return refuse_setting(
        "class: classes count with policy priority only, and this resource's is timeSlice",
        "set policy: priority in the configuration");
  }
  auto limits = promised;
  limits.set_by_operator = raising == Raising::kAllowed;
  // Priorities are ordered, the most urgent first.
  if (raising == Raising::kRefused && values.priority && *values.priority < limits.priority) {
    return fail(Code::kPermission,
                fmt::format("class: {} goes before {}, the configuration's, and a Pod's annotation "
                            "only lowers",
                            to_string(*values.priority), to_string(limits.priority)),
                "ask the operator: tranche limit set");
  }
  if (values.priority) limits.priority = *values.priority;
  for (auto& part : limits.devices) {
    const auto device = std::ranges::find(resource.devices, part.uuid, &offer::Device::uuid);
    if (device == resource.devices.end()) {
      return fail(Code::kFailedPrecondition, fmt::format("{} is not offered any more", part.uuid),
                  "start the Pod anew");
    }
    const auto before = part;
    if (values.memory) {
      ASSIGN_OR_RETURN(part.memory, memory_of(*values.memory, *device));
      // All that the tenant could borrow is promised, so nothing is left to borrow.
      if (part.borrowing && (!part.memory || *part.memory >= part.borrowing->hard)) {
        part.borrowing.reset();
      }
    }
    if (values.compute) set_compute(*values.compute, part);
    if (raising == Raising::kRefused) TRY(check_lowers(before, part, kOfConfiguration));
    if (rules.oversubscribe || !rules.holds()) continue;
    const auto found = elsewhere.find(part.uuid);
    const auto others = found == elsewhere.end() ? PromisedElsewhere() : found->second;
    TRY(check_memory(before, part, *device, others));
    TRY(check_compute(before, part, others));
  }
  return limits;
}

Result<limit::TenantLimits> promised_limits(const ClaimTenant& tenant) {
  return tenant_limits(tenant.id, tenant.driver,
                       tenant.by_mps ? offer::side_by_side(tenant.limits) : tenant.limits);
}

Result<limit::TenantLimits> with_claim_setting(const ClaimTenant& tenant,
                                               const LimitSetting& setting, Raising raising) {
  ASSIGN_OR_RETURN(const auto values, read(setting));
  if (values.priority) {
    return refuse_setting("class: containers with claims have none", "set memory and compute");
  }
  ASSIGN_OR_RETURN(auto limits, tenant_limits(tenant.id, tenant.driver, tenant.limits));
  limits.set_by_operator = raising == Raising::kAllowed;
  for (std::size_t i = 0; i < limits.devices.size(); ++i) {
    auto& part = limits.devices[i];
    const auto device = std::ranges::find(tenant.devices, part.uuid, &offer::Device::uuid);
    if (device == tenant.devices.end()) {
      return fail(Code::kFailedPrecondition, fmt::format("{} is not on this node now", part.uuid),
                  "see the Node's condition TrancheGpuHealthy");
    }
    const auto promised = part;
    if (values.memory) {
      ASSIGN_OR_RETURN(part.memory, memory_of(*values.memory, *device));
    }
    if (values.compute) set_compute(*values.compute, part);
    TRY(check_lowers(tenant.most.at(i), part, kOfClaim));
    if (raising == Raising::kRefused) TRY(check_lowers(promised, part, kOfClaimsConfiguration));
    if (tenant.client) TRY(check_lowers(promised, part, kOfEnvironment, Code::kFailedPrecondition));
    // A cap that was not set now is kept by MPS.
    if (tenant.by_mps && !values.compute) part.permille.reset();
  }
  if (tenant.by_mps) limits.priority = Priority::kLatencyCritical;
  return limits;
}

}  // namespace tranche::agent
