#include "dra/claim_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/uuid.h"
#include "dra/names.h"

namespace tranche::dra {
namespace {

constexpr std::uint64_t kAllCompute = 100;  // percent
constexpr std::uint64_t kPermillePerPercent = 10;

// What a device name stands for now.
struct Found {
  const gpu::Gpu* gpu = nullptr;
  const gpu::MigInstance* instance = nullptr;  // nullptr: the whole GPU
  const std::string& uuid() const {
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
  return std::nullopt;
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

// nullopt: the share is all of the GPU.
Result<std::optional<GrantLimits>> limits_of(const cluster::AllocatedDevice& device,
                                             const gpu::Gpu& gpu, const PlanFacts& facts) {
  ASSIGN_OR_RETURN(const auto memory, consumed(device, "memory"));
  ASSIGN_OR_RETURN(const auto compute, consumed(device, "compute"));
  const auto whole = Bytes::from_mib(gpu.memory.mib());
  if (memory > whole.value || compute > kAllCompute) {
    return fail(Code::kInvalidArgument,
                fmt::format("the share is more than the GPU: {} MiB and {} %", Bytes{memory}.mib(),
                            compute));
  }
  if (memory == whole.value && compute == kAllCompute) return std::nullopt;
  if (!facts.no_limits.empty()) {
    return fail(Code::kFailedPrecondition,
                fmt::format("a share cannot be limited on this node: {}", facts.no_limits));
  }
  const auto permille = static_cast<std::uint32_t>(compute * kPermillePerPercent);
  DeviceLimits part{.uuid = gpu.uuid.value, .weight = permille};
  if (memory < whole.value) part.memory = Bytes{memory};
  if (compute < kAllCompute) part.permille = permille;
  return GrantLimits{.enforcement = facts.enforcement, .devices = {std::move(part)}};
}

Result<PreparedDevice> plan_device(const cluster::AllocatedDevice& allocated,
                                   const gpu::Machine& machine, const PlanFacts& facts) {
  const auto found = find_device(machine, allocated.device);
  if (!found) {
    return fail(Code::kNotFound, "this node has no such device",
                "it was taken away after the claim was allocated; delete the Pod and its claim");
  }
  TRY(check_present(*found->gpu));
  PreparedDevice device{.request = std::string(allocated.base_request()),
                        .pool = allocated.pool,
                        .device = allocated.device,
                        .share_id = allocated.share_id,
                        .uuid = found->uuid(),
                        .admin_access = allocated.admin_access};
  if (device.share_id.empty() || device.admin_access) return device;
  if (!is_uuid(device.share_id)) {
    return fail(Code::kInvalidArgument, "the id of the share is no UUID");
  }
  ASSIGN_OR_RETURN(device.limits, limits_of(allocated, *found->gpu, facts));
  return device;
}

bool is_share(const PreparedDevice& device) { return device.limits.has_value(); }

// Memory in bytes and time in thousandths that shares take of a GPU.
struct Taken {
  std::uint64_t memory = 0;
  std::uint64_t permille = 0;
};

void add(const PreparedDevice& device, std::uint64_t all_memory, Taken& taken) {
  const auto& part = device.limits->devices.front();
  taken.memory += part.memory.value_or(Bytes{all_memory}).value;
  taken.permille += part.permille.value_or(1000);
}

std::unexpected<Error> held(const PreparedDevice& device, const PreparedClaim& by) {
  return fail(Code::kFailedPrecondition,
              fmt::format("{} is held by claim {}/{}", device.device, by.ns, by.name),
              "it is free when that claim's last Pod on this node has ended");
}

Result<void> check_device(const PreparedDevice& wanted, const PreparedClaim& claim,
                          const std::vector<PreparedClaim>& prepared, std::uint64_t memory) {
  Taken taken;
  for (const auto& own : claim.devices) {
    if (own.uuid == wanted.uuid && is_share(own)) add(own, memory, taken);
  }
  for (const auto& other : prepared) {
    if (other.uid == claim.uid) continue;
    for (const auto& device : other.devices) {
      if (device.uuid != wanted.uuid || device.admin_access) continue;
      if (!is_share(wanted) || !is_share(device)) return held(wanted, other);
      add(device, memory, taken);
      if (taken.memory > memory || taken.permille > 1000) return held(wanted, other);
    }
  }
  return {};
}

}  // namespace

Result<PreparedClaim> plan_claim(const cluster::ResourceClaim& claim, const gpu::Machine& machine,
                                 const PlanFacts& facts) {
  if (!claim.allocated) {
    return fail(Code::kFailedPrecondition, "the claim has no allocation",
                "the scheduler allocates it when a Pod that uses it is scheduled");
  }
  if (!is_uuid(claim.uid)) return fail(Code::kInvalidArgument, "the claim's uid is no UUID");
  PreparedClaim result{
      .ns = claim.key.ns, .name = claim.key.name, .uid = claim.uid, .boot = facts.boot};
  for (const auto& allocated : claim.devices) {
    if (allocated.driver != facts.driver || allocated.pool != facts.pool) continue;
    auto device = plan_device(allocated, machine, facts);
    if (!device) return std::unexpected(std::move(device).error().with_context(allocated.device));
    result.devices.push_back(*std::move(device));
  }
  return result;
}

Result<void> check_beside(const PreparedClaim& wanted, const std::vector<PreparedClaim>& prepared,
                          const gpu::Machine& machine) {
  for (const auto& device : wanted.devices) {
    if (device.admin_access) continue;
    const auto* gpu = gpu::find_gpu(machine, {device.uuid});
    const auto memory = gpu == nullptr ? 0 : Bytes::from_mib(gpu->memory.mib()).value;
    TRY(check_device(device, wanted, prepared, memory));
  }
  return {};
}

}  // namespace tranche::dra
