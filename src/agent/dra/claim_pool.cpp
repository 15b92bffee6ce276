#include "agent/dra/claim_pool.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "agent/dra/claim_book.h"
#include "dra/islands.h"
#include "dra/names.h"
#include "dra/packing.h"

namespace tranche::agent {
namespace {

using cluster::SliceDevice;

constexpr const char* kNoSchedule = "NoSchedule";
constexpr const char* kNoExecute = "NoExecute";

std::string uuid_of(const SliceDevice& device) {
  const auto found = device.attributes.find("uuid");
  const auto* text =
      found == device.attributes.end() ? nullptr : std::get_if<std::string>(&found->second);
  return text == nullptr ? std::string() : *text;
}

std::set<std::string> claimed(const std::vector<dra::PreparedClaim>& prepared) {
  std::set<std::string> uuids;
  for (const auto& claim : prepared) {
    for (const auto& device : claim.devices) uuids.insert(device.uuid);
  }
  return uuids;
}

// What containers of the device plugin hold, and what lies on the same silicon.
std::set<std::string> granted(const State& state) {
  std::set<std::string> uuids;
  for (const auto& promise : state.promises.at_odds) {
    uuids.merge(on_one_silicon(*state.machine, std::string(offer::device_uuid_of(promise.id))));
  }
  return uuids;
}

dra::PoolFacts facts_of(const State& state, const std::set<std::string>& claimed,
                        const std::set<std::string>& evicting) {
  dra::PoolFacts facts{.shares = state.claims.mounts.has_value(),
                       .partitionable = {},
                       .pcie_roots = state.claims.pcie_roots,
                       .islands = dra::islands_of(*state.machine, state.links.get()),
                       .taints = {}};
  for (const auto& [uuid, reason] : state.health) {
    facts.taints[uuid].push_back(
        {.key = kUnhealthyTaint, .effect = evicting.contains(uuid) ? kNoExecute : kNoSchedule});
  }
  if (state.claims.mode == cluster::NodeMode::kDra) return facts;
  for (const auto& uuid : claimed) {
    facts.taints[uuid].push_back({.key = kModeTaint,
                                  .value = std::string(cluster::name_of(state.claims.mode)),
                                  .effect = kNoSchedule});
  }
  return facts;
}

// Without feature gate DRAConsumableCapacity the API server drops what makes a device shareable,
// and a policy of a capacity without it is refused.
void take_shares_away(SliceDevice& device) {
  device.shareable = false;
  for (auto& [name, capacity] : device.capacity) capacity.policy.reset();
}

void sort_by_name(dra::Pool& pool) { std::ranges::sort(pool.gpus, {}, &SliceDevice::name); }

}  // namespace

dra::Pool make_claim_pool(const State& state, const PoolWish& wish) {
  const auto held = claimed(wish.prepared);
  auto pool = dra::make_pool(*state.machine, facts_of(state, held, wish.evicting));
  const bool offers = state.claims.mode == cluster::NodeMode::kDra;
  const auto elsewhere = offers ? granted(state) : std::set<std::string>();
  const auto is_out = [&](const SliceDevice& device) {
    const auto uuid = uuid_of(device);
    return !held.contains(uuid) && (!offers || elsewhere.contains(uuid));
  };
  std::erase_if(pool.gpus, is_out);
  for (auto& group : pool.instances) std::erase_if(group, is_out);
  std::erase_if(pool.instances, [](const auto& group) { return group.empty(); });
  if (wish.dropped.shares) std::ranges::for_each(pool.gpus, take_shares_away);
  dra::put_fullest_first(pool, wish.prepared);
  return pool;
}

std::vector<dra::DeviceHealth> health_of(const State& state, const std::string& pool) {
  std::vector<dra::DeviceHealth> all;
  const auto add = [&](std::string name, const std::string& uuid) {
    const auto reason = state.health.find(uuid);
    all.push_back(
        {pool, std::move(name), reason == state.health.end() ? std::string() : reason->second});
  };
  for (const auto& gpu : state.machine->gpus) {
    add(dra::gpu_device_name(gpu), gpu.uuid.value);
    for (const auto& instance : gpu.mig_instances) {
      add(dra::existing_device_name(gpu, instance), instance.uuid.value);
    }
  }
  return all;
}

bool differ_in_order_alone(const dra::Pool& a, const dra::Pool& b) {
  auto left = a;
  auto right = b;
  sort_by_name(left);
  sort_by_name(right);
  return left.gpus == right.gpus && left.instances == right.instances &&
         left.counters == right.counters;
}

}  // namespace tranche::agent
