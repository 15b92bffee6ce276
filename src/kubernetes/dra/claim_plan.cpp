#include "dra/claim_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/uuid.h"
#include "dra/claim_config.h"
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

  bool whole() const { return instance == nullptr && !place; }
  std::string uuid() const {
    if (place) return "";
    return instance != nullptr ? instance->uuid.value : gpu->uuid.value;
  }
};

std::optional<Found> find_device(const gpu::Machine& machine, std::string_view name) {
  for (const auto& gpu : machine.gpus) {
    if (gpu_device_name(gpu) == name) return Found{.gpu = &gpu};
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

// Sets the limits: the part, lowered by the claim's configuration.
Result<void> limit(PreparedDevice& device, const std::optional<ClaimSettings>& settings,
                   std::size_t index, const Found& found, const PlanFacts& facts) {
  const auto all = memory_of(found);
  auto limits = consumed_limits(device, all);
  if (settings && device.part) TRY(check_only_lowers(limits, *settings, index));
  if (settings) limits = lowered(std::move(limits), *settings, index, all);
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

Result<void> check_kind(const std::optional<ClaimSettings>& settings, const Found& found) {
  const bool for_instances = settings && settings->kind == ClaimSettings::Kind::kMig;
  if (!settings || for_instances == !found.whole()) return {};
  return fail(Code::kInvalidArgument,
              for_instances ? "its configuration is a MigDeviceConfig, and it is a whole GPU"
                            : "its configuration is a GpuConfig, and it is a MIG instance");
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

// `index`: among the claim's devices.
Result<PreparedDevice> plan_device(const cluster::ResourceClaim& claim,
                                   const cluster::AllocatedDevice& allocated, std::size_t index,
                                   const gpu::Machine& machine, const PlanFacts& facts) {
  const auto found = find_device(machine, allocated.device);
  if (!found) {
    return fail(Code::kNotFound, "this node has no such device",
                "it was taken away after the claim was allocated; delete the Pod and its claim");
  }
  TRY(check_present(*found->gpu));
  TRY(check_place(*found, facts));
  PreparedDevice device{.request = std::string(allocated.base_request()),
                        .pool = allocated.pool,
                        .device = allocated.device,
                        .share_id = allocated.share_id,
                        .uuid = found->uuid(),
                        .place = found->place,
                        .admin_access = allocated.admin_access};
  if (device.admin_access) return device;
  TRY(serve_by_mps(device, facts));
  if (!device.share_id.empty()) {
    if (!is_uuid(device.share_id)) {
      return fail(Code::kInvalidArgument, "the id of the share is no UUID");
    }
    ASSIGN_OR_RETURN(device.part, part_of(allocated, memory_of(*found), size_of(*found->gpu)));
  }
  ASSIGN_OR_RETURN(const auto settings, settings_for(claim, allocated.request, facts.driver));
  TRY(check_kind(settings, *found));
  TRY(limit(device, settings, index, *found, facts));
  return device;
}

bool is_share(const PreparedDevice& device) { return device.part.has_value(); }

void add(const PreparedDevice& device, ConsumedPart& taken) {
  taken.memory.value += device.part->memory.value;
  taken.percent += device.part->percent;
}

std::unexpected<Error> held(const PreparedDevice& device, const PreparedClaim& by) {
  return fail(Code::kFailedPrecondition,
              fmt::format("{} is held by claim {}/{}", device.device, by.ns, by.name),
              "it is free when that claim's last Pod on this node has ended");
}

// Whether they share hardware: a place and its GPU, and overlapping places.
bool meet(const PreparedDevice& a, const PreparedDevice& b) {
  if (a.place && b.place) return overlap(*a.place, *b.place);
  if (a.place) return a.place->gpu.value == b.uuid;
  if (b.place) return b.place->gpu.value == a.uuid;
  return a.uuid == b.uuid;
}

Result<void> check_device(const PreparedDevice& wanted, const PreparedClaim& claim,
                          const std::vector<PreparedClaim>& prepared, Bytes memory) {
  ConsumedPart taken;
  for (const auto& own : claim.devices) {
    if (is_share(own) && meet(own, wanted)) add(own, taken);
  }
  for (const auto& other : prepared) {
    if (other.uid == claim.uid) continue;
    for (const auto& device : other.devices) {
      if (device.admin_access || !meet(wanted, device)) continue;
      if (!is_share(wanted) || !is_share(device)) return held(wanted, other);
      add(device, taken);
      if (taken.memory > memory || taken.percent > kAllCompute) return held(wanted, other);
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
  PreparedClaim result{
      .ns = claim.key.ns, .name = claim.key.name, .uid = claim.uid, .boot = facts.boot};
  const auto& users = claim.reserved_for;
  if (users.size() == 1 && users.front().resource == "pods") result.pod = users.front().uid;
  for (const auto& allocated : claim.devices) {
    if (allocated.driver != facts.driver || allocated.pool != facts.pool) continue;
    auto device = plan_device(claim, allocated, result.devices.size(), machine, facts);
    if (!device) return std::unexpected(std::move(device).error().with_context(allocated.device));
    result.devices.push_back(*std::move(device));
  }
  return result;
}

Result<void> check_conflicts(const PreparedClaim& wanted,
                             const std::vector<PreparedClaim>& prepared,
                             const gpu::Machine& machine) {
  for (const auto& device : wanted.devices) {
    if (device.admin_access) continue;
    const auto* gpu = gpu::find_gpu(machine, {device.uuid});
    // The scheduler now allocates what programs can use. Claims allocated earlier from the GPU's
    // size are all prepared, as before.
    TRY(check_device(device, wanted, prepared, gpu == nullptr ? Bytes() : size_of(*gpu)));
  }
  return {};
}

}  // namespace tranche::dra
