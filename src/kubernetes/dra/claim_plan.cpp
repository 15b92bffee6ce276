#include "dra/claim_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/uuid.h"
#include "dra/claim_conflicts.h"
#include "dra/lowering.h"
#include "dra/names.h"

namespace tranche::dra {
namespace {

constexpr std::uint32_t kAllCompute = 100;  // percent
constexpr std::uint32_t kPermillePerPercent = 10;

// The current meaning of a device name: an existing instance, a place for one, or else the whole
// GPU.
struct Found {
  const gpu::Gpu* gpu = nullptr;
  const gpu::MigInstance* instance = nullptr;
  const gpu::GpuInstanceProfile* profile = nullptr;
  std::optional<MigPlace> place = {};
  bool for_admins = false;

  bool whole() const { return instance == nullptr && !place; }
  std::string uuid() const {
    if (place) return "";
    return instance != nullptr ? instance->uuid.value : gpu->uuid.value;
  }
};

std::optional<Found> find_device(const gpu::Machine& machine, std::string_view name) {
  for (const auto& gpu : machine.gpus) {
    if (gpu_device_name(gpu) == name) return Found{.gpu = &gpu};
    if (admin_device_name(gpu) == name) return Found{.gpu = &gpu, .for_admins = true};
    for (const auto& instance : gpu.mig_instances) {
      if (existing_device_name(gpu, instance) == name) {
        return Found{.gpu = &gpu, .instance = &instance};
      }
    }
  }
  auto place = find_place(machine, name);
  if (!place) return std::nullopt;
  return Found{.gpu = place->gpu, .profile = place->profile, .place = std::move(place->place)};
}

Result<void> check_present(const gpu::Gpu& gpu) {
  if (gpu.presence == gpu::Presence::kPresent) return {};
  return fail(Code::kUnavailable, fmt::format("the GPU does not answer: {}", gpu.presence_reason),
              "`nvidia-smi` and `dmesg` on the node");
}

Result<std::uint64_t> consumed(const cluster::AllocatedDevice& device, const char* capacity) {
  const auto found = device.consumed.find(capacity);
  if (found != device.consumed.end() && found->second > 0) return found->second;
  return fail(Code::kInvalidArgument, fmt::format("the share has no {}", capacity));
}

Bytes size_of(const gpu::Gpu& gpu) { return Bytes::from_mib(gpu.memory.mib()); }

// nullopt: the share is the whole GPU. An older claim may have been allocated from the GPU's `size`
// instead of `all`, which is what programs can use: it gets at most `all`.
Result<std::optional<ConsumedPart>> part_of(const cluster::AllocatedDevice& device, Bytes all,
                                            Bytes size) {
  ASSIGN_OR_RETURN(const auto memory, consumed(device, "memory"));
  ASSIGN_OR_RETURN(const auto compute, consumed(device, "compute"));
  if (memory > size.value || compute > kAllCompute) {
    return fail(Code::kInvalidArgument,
                fmt::format("the share is more than the GPU: {} MiB and {} %", Bytes{memory}.mib(),
                            compute));
  }
  if (memory >= all.value && compute == kAllCompute) return std::nullopt;
  return ConsumedPart{.memory = {memory}, .percent = static_cast<std::uint32_t>(compute)};
}

Bytes memory_of(const Found& found) {
  if (found.instance != nullptr) return found.instance->attributes.memory;
  if (found.place) return found.profile->attributes.value_or(gpu::MigAttributes()).memory;
  return found.gpu->usable_memory();
}

// The enforcement for an unlimited device: a GPU has its resource's, an instance none.
Enforcement without_limits(const PreparedDevice& device, const Found& found,
                           const PlanFacts& facts) {
  const bool can = found.whole() && !device.part && facts.no_limits.empty();
  return can ? facts.of_whole : Enforcement::kOff;
}

// Sets the limits: the part, lowered by the configurations.
Result<void> limit(PreparedDevice& device, const Lowering& lowering, const Found& found,
                   const PlanFacts& facts) {
  const auto all = memory_of(found);
  auto limits = consumed_limits(device, all);
  if (device.part) TRY(check_only_lowers(limits, lowering.by_claim));
  limits = lowered(std::move(limits), lowering, all);
  if (!limits.memory && !limits.permille) {
    const auto kept = without_limits(device, found, facts);
    if (kept == Enforcement::kOff) return {};
    device.limits = GrantLimits{.enforcement = kept, .devices = {std::move(limits)}};
    return {};
  }
  if (!facts.no_limits.empty()) {
    return fail(Code::kFailedPrecondition,
                fmt::format("a share cannot be limited on this node: {}", facts.no_limits));
  }
  device.limits = GrantLimits{.enforcement = facts.enforcement, .devices = {std::move(limits)}};
  return {};
}

// Containers of a GPU that MPS serves become its clients: no other process can use the GPU.
Result<void> serve_by_mps(PreparedDevice& device, const PlanFacts& facts) {
  const auto resource = facts.mps.find(device.uuid);
  if (resource == facts.mps.end()) return {};
  device.mps = resource->second;
  const auto trouble = facts.mps_troubles.find(device.uuid);
  if (trouble == facts.mps_troubles.end()) return {};
  return fail(Code::kUnavailable, fmt::format("{}: {}", device.mps, trouble->second),
              "kubelet tries again; see the Pod of mps-control-daemon on this node");
}

// Whether an instance can be created at the place, if it is one.
Result<void> check_place(const Found& found, const PlanFacts& facts) {
  if (!found.place || facts.partitionable.contains(found.gpu->uuid)) return {};
  return fail(Code::kFailedPrecondition, "no instances are made for claims on this GPU",
              "delete the Pod and its claim, so that the scheduler looks for another device");
}

// NVIDIA's driver names the pool by the node.
Result<void> check_pool(const cluster::AllocatedDevice& allocated, const PlanFacts& facts) {
  const auto& pool = allocated.pool;
  if (pool == facts.pool || pool == facts.former_pool || pool == facts.node) return {};
  return fail(Code::kFailedPrecondition,
              fmt::format("it is of pool {}, and this node, {}, has pool {}", allocated.pool,
                          facts.node, facts.pool),
              "the claim's devices are on another node (does the Pod have spec.nodeName, or do "
              "Pods on several nodes use one claim?): delete the Pod, leave the node to the "
              "scheduler, and give each Pod its own claim by a ResourceClaimTemplate");
}

std::unexpected<Error> no_device(const cluster::AllocatedDevice& allocated,
                                 const PlanFacts& facts) {
  const bool nvidias = allocated.pool == facts.node;
  return fail(Code::kNotFound, "this node has no such device",
              fmt::format("{}; delete the Pod and its claim",
                          nvidias ? "NVIDIA's driver allocated it, and names it differently"
                                  : "it was taken away after the claim was allocated"));
}

// A device without its limits.
struct Planned {
  PreparedDevice device;
  Found found;
  std::string request;  // with its subrequest
};

Result<Planned> plan_device(const cluster::AllocatedDevice& allocated, const gpu::Machine& machine,
                            const PlanFacts& facts) {
  TRY(check_pool(allocated, facts));
  const auto found = find_device(machine, allocated.device);
  if (!found) return no_device(allocated, facts);
  TRY(check_present(*found->gpu));
  TRY(check_place(*found, facts));
  if (found->for_admins && !allocated.admin_access) {
    return fail(Code::kInvalidArgument, "the device is for requests with adminAccess alone",
                "request class gpu.nvidia.com or gpu-share, without the toleration of " +
                    std::string(kAdminTaint));
  }
  PreparedDevice device{.request = std::string(allocated.base_request()),
                        .pool = allocated.pool,
                        .device = allocated.device,
                        .share_id = allocated.share_id,
                        .uuid = found->uuid(),
                        .place = found->place,
                        .admin_access = allocated.admin_access};
  if (!device.admin_access) {
    TRY(serve_by_mps(device, facts));
    if (!device.share_id.empty()) {
      if (!is_uuid(device.share_id)) {
        return fail(Code::kInvalidArgument, "the id of the share is no UUID");
      }
      ASSIGN_OR_RETURN(device.part, part_of(allocated, memory_of(*found), size_of(*found->gpu)));
    }
  }
  return Planned{std::move(device), *found, allocated.request};
}

Result<std::vector<Planned>> plan_devices(const cluster::ResourceClaim& claim,
                                          const gpu::Machine& machine, const PlanFacts& facts) {
  std::vector<Planned> all;
  for (const auto& allocated : claim.devices) {
    if (allocated.driver != facts.driver) continue;
    auto planned = plan_device(allocated, machine, facts);
    if (!planned) return std::unexpected(std::move(planned).error().with_context(allocated.device));
    all.push_back(*std::move(planned));
  }
  if (!all.empty()) return all;
  return fail(Code::kFailedPrecondition,
              fmt::format("the claim has no device of driver {}", facts.driver),
              "it was changed since the Pod was scheduled: delete the Pod");
}

Result<void> limit_all(std::vector<Planned>& all, const cluster::ResourceClaim& claim,
                       const PlanFacts& facts) {
  std::vector<Planned*> limited;
  std::vector<ConfiguredDevice> configured;
  for (auto& one : all) {
    if (one.device.admin_access) continue;
    limited.push_back(&one);
    configured.push_back(
        {.name = one.device.device,
         .request = one.request,
         .uuid = one.device.uuid,
         .kind = one.found.whole() ? ClaimSettings::Kind::kGpu : ClaimSettings::Kind::kMig});
  }
  ASSIGN_OR_RETURN(const auto lowerings, lowerings_of(claim, configured, facts.driver));
  for (std::size_t n = 0; n < limited.size(); ++n) {
    auto done = limit(limited[n]->device, lowerings[n], limited[n]->found, facts);
    if (!done) {
      return std::unexpected(std::move(done).error().with_context(limited[n]->device.device));
    }
  }
  return {};
}

}  // namespace

DeviceLimits consumed_limits(const PreparedDevice& device, Bytes all) {
  DeviceLimits limits{.uuid = device.place ? device.place->gpu.value : device.uuid,
                      .weight = kAllCompute * kPermillePerPercent};
  if (!device.part) return limits;
  limits.weight = device.part->percent * kPermillePerPercent;
  if (device.part->memory < all) limits.memory = device.part->memory;
  if (device.part->percent < kAllCompute) limits.permille = limits.weight;
  return limits;
}

Result<PreparedClaim> plan_claim(const cluster::ResourceClaim& claim, const gpu::Machine& machine,
                                 const PlanFacts& facts) {
  if (!claim.allocated) {
    return fail(Code::kFailedPrecondition, "the claim has no allocation",
                "the scheduler allocates it when a Pod that uses it is scheduled");
  }
  if (!is_uuid(claim.uid)) return fail(Code::kInvalidArgument, "the claim's uid is no UUID");
  PreparedClaim result{.ns = claim.key.ns,
                       .name = claim.key.name,
                       .uid = claim.uid,
                       .boot = facts.boot,
                       .driver = facts.driver};
  const auto& users = claim.reserved_for;
  if (users.size() == 1 && users.front().resource == "pods") result.pod = users.front().uid;
  ASSIGN_OR_RETURN(auto planned, plan_devices(claim, machine, facts));
  TRY(limit_all(planned, claim, facts));
  for (auto& one : planned) result.devices.push_back(std::move(one.device));
  TRY(check_adds_up(result, machine));
  return result;
}

}  // namespace tranche::dra
