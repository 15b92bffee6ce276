#include "dra/claim_conflicts.h"

#include <fmt/format.h>

namespace tranche::dra {
namespace {

constexpr std::uint32_t kMostPercent = 100;  // percent
constexpr auto kForged =
    "no scheduler allocates that: who changed the claim's status? Delete the Pod and its claim";

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

bool is_too_much(const ConsumedPart& taken, Bytes memory) {
  return taken.memory > memory || taken.percent > kMostPercent;
}

// The scheduler now allocates what programs can use. Claims allocated earlier from the GPU's size
// are all prepared, as before.
Bytes size_of(const PreparedDevice& device, const gpu::Machine& machine) {
  const auto* gpu = gpu::find_gpu(machine, {device.uuid});
  return gpu == nullptr ? Bytes() : Bytes::from_mib(gpu->memory.mib());
}

// What the claim's shares of the device add up to; `wanted` is one of them.
ConsumedPart own_shares(const PreparedDevice& wanted, const PreparedClaim& claim) {
  ConsumedPart taken;
  for (const auto& own : claim.devices) {
    if (!own.admin_access && is_share(own) && meet(own, wanted)) add(own, taken);
  }
  return taken;
}

Result<void> check_device(const PreparedDevice& wanted, const PreparedClaim& claim,
                          const std::vector<PreparedClaim>& prepared, Bytes memory) {
  auto taken = own_shares(wanted, claim);
  for (const auto& other : prepared) {
    if (other.uid == claim.uid) continue;
    for (const auto& device : other.devices) {
      if (device.admin_access || !meet(wanted, device)) continue;
      if (!is_share(wanted) || !is_share(device)) return held(wanted, other);
      add(device, taken);
      if (is_too_much(taken, memory)) return held(wanted, other);
    }
  }
  return {};
}

// Two devices of a claim that meet. `taken`: by all its shares there.
Result<void> check_both(const PreparedDevice& one, const PreparedDevice& other,
                        const ConsumedPart& taken, Bytes memory) {
  if (!is_share(one) || !is_share(other)) {
    return fail(Code::kInvalidArgument,
                fmt::format("the claim has {} next to {}, which is the same hardware", one.device,
                            other.device),
                kForged);
  }
  if (!is_too_much(taken, memory)) return {};
  return fail(Code::kInvalidArgument,
              fmt::format("the claim's shares of {} are more than the GPU: {} MiB and {} %",
                          one.device, taken.memory.mib(), taken.percent),
              kForged);
}

}  // namespace

Result<void> check_adds_up(const PreparedClaim& claim, const gpu::Machine& machine) {
  for (auto one = claim.devices.begin(); one != claim.devices.end(); ++one) {
    for (auto other = claim.devices.begin(); other != one; ++other) {
      if (one->admin_access || other->admin_access || !meet(*one, *other)) continue;
      TRY(check_both(*one, *other, own_shares(*one, claim), size_of(*one, machine)));
    }
  }
  return {};
}

Result<void> check_conflicts(const PreparedClaim& wanted,
                             const std::vector<PreparedClaim>& prepared,
                             const gpu::Machine& machine) {
  for (const auto& device : wanted.devices) {
    if (!device.admin_access) {
      TRY(check_device(device, wanted, prepared, size_of(device, machine)));
    }
  }
  return {};
}

}  // namespace tranche::dra
