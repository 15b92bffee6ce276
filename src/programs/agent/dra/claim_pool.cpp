#include "agent/dra/claim_pool.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "agent/config/mode_standing.h"
#include "agent/dra/claim_mps.h"
#include "agent/dra/claim_standing.h"
#include "agent/dra/drain_condition.h"
#include "agent/hardware/leaving.h"
#include "agent/holdings/claim_entries.h"
#include "agent/withholding/held_standing.h"
#include "dra/islands.h"
#include "dra/names.h"
#include "dra/packing.h"
#include "holdings/silicon.h"

namespace tranche::agent {
namespace {

using cluster::SliceDevice;

constexpr const char* kNoSchedule = "NoSchedule";
constexpr const char* kNoExecute = "NoExecute";

std::string text_of(const SliceDevice& device, std::string_view attribute) {
  const auto found = device.attributes.find(std::string(attribute));
  const auto* text =
      found == device.attributes.end() ? nullptr : std::get_if<std::string>(&found->second);
  return text == nullptr ? std::string() : *text;
}

struct Claimed {
  std::set<std::string> names;  // of devices
  std::set<std::string> uuids;  // of a place: its GPU's
  std::set<gpu::GpuUuid> cut;   // GPUs with claimed places
  // Of other pools: UUIDs of their devices, of those that overlap them, and of their GPUs.
  std::set<std::string> elsewhere;
};

bool is_of_this_pool(const dra::PreparedClaim& claim, const dra::PreparedDevice& device,
                     const PoolWish& wish) {
  return wish.pool.empty() ||
         (driver_of(claim, wish.driver) == wish.driver && device.pool == wish.pool);
}

Claimed claimed(const gpu::Machine& machine, const PoolWish& wish) {
  Claimed all;
  const holdings::Silicon silicon(machine);
  for (const auto& claim : wish.prepared) {
    for (const auto& device : claim.devices) {
      if (!is_of_this_pool(claim, device, wish)) {
        if (!device.admin_access) all.elsewhere.merge(silicon_of(device, silicon));
        continue;
      }
      all.names.insert(device.device);
      all.uuids.insert(device.place ? device.place->gpu.value : device.uuid);
      if (device.place) all.cut.insert(device.place->gpu);
    }
  }
  return all;
}

// The devices that containers of the device plugin hold, and those that overlap them.
std::set<std::string> granted(const State& state) {
  std::set<std::string> uuids;
  const holdings::Silicon silicon(*state.machine);
  for (const auto& holding : state.get<HeldStanding>().at_odds) {
    uuids.merge(silicon.of(holding.device));
  }
  return uuids;
}

std::set<gpu::GpuUuid> offered_places(const State& state, const dra::Dropped& dropped) {
  if (state.get<NodeModeStanding>().mode != cluster::NodeMode::kDra || dropped.counters) return {};
  return state.get<ClaimStanding>().cut.value_or(std::set<gpu::GpuUuid>());
}

// Also GPUs that are not cut any more once their claims have ended: what is there then is listed
// anew, and the scheduler is faster.
std::set<std::string> changing(const State& state, const Claimed& claimed,
                               const std::set<gpu::GpuUuid>& places) {
  auto all = leaving_devices(state.get<MigStanding>(), *state.machine);
  if (state.get<NodeModeStanding>().mode != cluster::NodeMode::kDra) return all;
  for (const auto& gpu : claimed.cut) {
    if (!places.contains(gpu)) all.insert(gpu.value);
  }
  return all;
}

// A GPU stays cut while a claim holds a place on it, because the scheduler counts only listed
// devices.
dra::PoolFacts facts_of(const State& state, const Claimed& claimed, const PoolWish& wish,
                        const std::set<gpu::GpuUuid>& places) {
  auto cut = places;
  cut.insert(claimed.cut.begin(), claimed.cut.end());
  dra::PoolFacts facts{.shares = state.get<ClaimStanding>().mounts.has_value(),
                       .partitionable = std::move(cut),
                       .pcie_roots = state.get<ClaimStanding>().pcie_roots,
                       .islands = dra::islands_of(*state.machine, state.links.get()),
                       .taints = {}};
  for (const auto& [uuid, reason] : state.health) {
    facts.taints[uuid].push_back(
        {.key = kUnhealthyTaint,
         .effect = wish.evicting.contains(uuid) ? kNoExecute : kNoSchedule});
  }
  for (const auto& [uuid, trouble] : mps_troubles(state)) {
    facts.taints[uuid].push_back({.key = kMpsTaint, .effect = kNoSchedule});
  }
  for (const auto& uuid : changing(state, claimed, places)) {
    facts.taints[uuid].push_back({.key = kMigChangeTaint, .effect = kNoSchedule});
  }
  if (state.get<NodeModeStanding>().mode == cluster::NodeMode::kDra) return facts;
  for (const auto& uuid : claimed.uuids) {
    facts.taints[uuid].push_back(
        {.key = kModeTaint,
         .value = std::string(cluster::name_of(state.get<NodeModeStanding>().mode)),
         .effect = kNoSchedule});
  }
  return facts;
}

// Without the feature gate DRAConsumableCapacity the API server drops what makes a device
// shareable, and rejects a capacity's policy without it.
void take_shares_away(SliceDevice& device) {
  device.shareable = false;
  for (auto& [name, capacity] : device.capacity) capacity.policy.reset();
}

// Kubelet looks a device up by the pool that the claim names: of claims that NVIDIA's driver
// allocated, another one.
void add_foreign_pools(std::vector<dra::DeviceHealth>& all,
                       const std::vector<dra::PreparedClaim>& prepared, const std::string& pool) {
  for (const auto& claim : prepared) {
    for (const auto& device : claim.devices) {
      if (device.pool == pool) continue;
      const auto ours = std::ranges::find_if(all, [&](const dra::DeviceHealth& one) {
        return one.pool == pool && one.device == device.device;
      });
      if (ours == all.end()) continue;
      auto same = *ours;
      same.pool = device.pool;
      if (std::ranges::find(all, same) == all.end()) all.push_back(std::move(same));
    }
  }
}

void sort_by_name(dra::Pool& pool) { std::ranges::sort(pool.gpus, {}, &SliceDevice::name); }

}  // namespace

dra::Pool make_claim_pool(const State& state, const PoolWish& wish) {
  const auto held = claimed(*state.machine, wish);
  const auto places = offered_places(state, wish.dropped);
  auto pool = dra::make_pool(*state.machine, facts_of(state, held, wish, places));
  const bool offers = state.get<NodeModeStanding>().mode == cluster::NodeMode::kDra;
  auto elsewhere = offers ? granted(state) : std::set<std::string>();
  elsewhere.insert(held.elsewhere.begin(), held.elsewhere.end());
  const auto is_out = [&](const SliceDevice& device) {
    if (held.names.contains(device.name)) return false;
    // A taint that the API server drops cannot keep claims away.
    if (!offers || (wish.dropped.taints && !device.taints.empty())) return true;
    const auto uuid = text_of(device, "uuid");
    if (!uuid.empty()) return elsewhere.contains(uuid);
    const auto gpu = text_of(device, "parentUUID");
    return elsewhere.contains(gpu) || !places.contains({gpu});
  };
  std::erase_if(pool.gpus, is_out);
  std::erase_if(pool.admins, is_out);
  for (auto& group : pool.instances) std::erase_if(group, is_out);
  std::erase_if(pool.instances, [](const auto& group) { return group.empty(); });
  if (wish.dropped.shares) std::ranges::for_each(pool.gpus, take_shares_away);
  dra::put_fullest_first(pool, wish.prepared);
  return pool;
}

std::vector<dra::DeviceHealth> health_of(const State& state,
                                         const std::vector<dra::PreparedClaim>& prepared,
                                         const std::string& pool) {
  std::vector<dra::DeviceHealth> all;
  const auto mps = mps_troubles(state);
  const auto reason_of = [&](const std::string& uuid) {
    if (const auto reason = state.health.find(uuid); reason != state.health.end()) {
      return reason->second;
    }
    const auto reason = mps.find(uuid);
    return reason == mps.end() ? std::string() : reason->second;
  };
  const auto add = [&](std::string name, const std::string& uuid) {
    all.push_back({pool, std::move(name), reason_of(uuid)});
  };
  for (const auto& gpu : state.machine->gpus) {
    add(dra::gpu_device_name(gpu), gpu.uuid.value);
    add(dra::admin_device_name(gpu), gpu.uuid.value);
    for (const auto& instance : gpu.mig_instances) {
      add(dra::existing_device_name(gpu, instance), instance.uuid.value);
    }
  }
  for (const auto& claim : prepared) {
    for (const auto& device : claim.devices) {
      if (!device.place) continue;
      add(device.device, device.uuid);
      if (all.back().reason.empty()) all.back().reason = reason_of(device.place->gpu.value);
    }
  }
  add_foreign_pools(all, prepared, pool);
  return all;
}

bool differ_in_order_alone(const dra::Pool& a, const dra::Pool& b) {
  auto left = a;
  auto right = b;
  sort_by_name(left);
  sort_by_name(right);
  return left.gpus == right.gpus && left.admins == right.admins &&
         left.instances == right.instances && left.counters == right.counters;
}

}  // namespace tranche::agent
