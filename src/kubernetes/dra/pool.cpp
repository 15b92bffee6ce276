#include "dra/pool.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>

#include "dra/counters.h"
#include "dra/gpu_devices.h"
#include "dra/names.h"
#include "gpu/mig_name.h"

namespace tranche::dra {
namespace {

using cluster::SliceDevice;

// Fills slices one after the other.
class Slices {
 public:
  Slices(const PoolNames& names, std::int64_t generation)
      : names_(names), generation_(generation) {}

  // Begins a new slice.
  void begin() {
    slices_.push_back(
        {.name = slice_name(names_.node, names_.driver, slices_.size()),
         .driver = names_.driver,
         .node = names_.node,
         .pool = {.name = pool_name(names_.node, names_.driver), .generation = generation_}});
  }
  std::size_t devices() const { return slices_.empty() ? 0 : slices_.back().devices.size(); }

  void add_all(std::vector<cluster::CounterSet> sets) {
    for (auto& set : sets) {
      if (slices_.empty() || slices_.back().counters.size() == cluster::kCounterSetsPerSlice) {
        begin();
      }
      slices_.back().counters.push_back(std::move(set));
    }
  }
  void add(cluster::SliceDevice device) {
    if (devices() == cluster::kDetailedDevicesPerSlice) begin();
    slices_.back().devices.push_back(std::move(device));
  }

  std::vector<cluster::ResourceSlice> take() {
    if (slices_.empty()) begin();
    const auto count = static_cast<std::int64_t>(slices_.size());
    for (auto& slice : slices_) slice.pool.slices = count;
    return std::move(slices_);
  }

 private:
  const PoolNames& names_;
  const std::int64_t generation_;
  std::vector<cluster::ResourceSlice> slices_;
};

// A MIG device's size, as its profile's name says it; what has no such name comes last.
auto name_of_profile(const SliceDevice& device) {
  const auto profile = device.attributes.find("profile");
  const auto* text =
      profile == device.attributes.end() ? nullptr : std::get_if<std::string>(&profile->second);
  constexpr int kMost = std::numeric_limits<int>::max();
  return (text == nullptr ? std::nullopt : gpu::parse_mig_name(*text))
      .value_or(gpu::MigName{.compute_slices = kMost, .gpu_slices = kMost});
}

auto size_key(const SliceDevice& device) {
  const auto name = name_of_profile(device);
  return std::tuple(name.gpu_slices, name.memory_gb, name.compute_slices,
                    name.kind != gpu::MigKind::kPlain);
}

// Places are in that order already.
void put_smallest_first(std::vector<std::vector<SliceDevice>>& groups) {
  for (auto& group : groups) {
    if (group.front().consumes.empty()) std::ranges::stable_sort(group, {}, size_key);
  }
  std::ranges::stable_sort(groups, {}, [](const std::vector<SliceDevice>& group) {
    const auto name = name_of_profile(group.front());
    return std::tuple(name.gpu_slices, name.memory_gb);
  });
}

}  // namespace

Pool make_pool(const gpu::Machine& machine, const PoolFacts& facts) {
  Pool pool;
  std::vector<SliceDevice> existing;
  for (const auto& gpu : machine.gpus) {
    if (!gpu.mig_unread.empty()) continue;  // unknown whether it is whole or divided
    const GpuDevices devices(machine, gpu, facts);
    if (devices.partitions()) {
      pool.counters.push_back({counter_set_name(gpu), whole_gpu(gpu.mig_geometry)});
    }
    if (devices.has_whole()) {
      pool.gpus.push_back(devices.whole());
      pool.admins.push_back(devices.for_admins());
    }
    std::ranges::move(devices.existing(), std::back_inserter(existing));
    if (auto places = devices.places(); !places.empty())
      pool.instances.push_back(std::move(places));
  }
  if (!existing.empty()) pool.instances.push_back(std::move(existing));
  // First fit takes whole GPUs and shares from the first GPU on, and places from the last.
  std::ranges::reverse(pool.instances);
  put_smallest_first(pool.instances);
  return pool;
}

std::vector<cluster::ResourceSlice> make_slices(Pool pool, const PoolNames& names,
                                                std::int64_t generation) {
  Slices slices(names, generation);
  slices.add_all(std::move(pool.counters));
  if (!pool.gpus.empty() || !pool.admins.empty()) slices.begin();
  for (auto& device : pool.gpus) slices.add(std::move(device));
  for (auto& device : pool.admins) slices.add(std::move(device));
  // Instances and whole GPUs are in separate slices, because the order of GPUs changes on its own.
  if (!pool.instances.empty()) slices.begin();
  for (auto& group : pool.instances) {
    const bool fits = slices.devices() + group.size() <= cluster::kDetailedDevicesPerSlice;
    if (!fits && slices.devices() > 0) slices.begin();
    for (auto& device : group) slices.add(std::move(device));
  }
  return slices.take();
}

}  // namespace tranche::dra
