#include "dra/pool.h"

#include <algorithm>
#include <utility>

#include "dra/counters.h"
#include "dra/gpu_devices.h"
#include "dra/names.h"

namespace tranche::dra {
namespace {

// Fills slices one after the other.
class Slices {
 public:
  Slices(const PoolNames& names, std::int64_t generation)
      : names_(names), generation_(generation) {}

  // Begins a new slice.
  void begin() {
    slices_.push_back({.name = slice_name(names_.node, names_.driver, slices_.size()),
                       .driver = names_.driver,
                       .node = names_.node,
                       .pool = {.name = pool_name(names_.node), .generation = generation_}});
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

}  // namespace

Pool make_pool(const gpu::Machine& machine, const PoolFacts& facts) {
  Pool pool;
  for (const auto& gpu : machine.gpus) {
    if (!gpu.mig_unread.empty()) continue;  // unknown whether it is whole or divided
    const GpuDevices devices(machine, gpu, facts);
    if (devices.partitions()) {
      pool.counters.push_back({counter_set_name(gpu), whole_gpu(gpu.mig_geometry)});
    }
    if (devices.has_whole()) pool.gpus.push_back(devices.whole());
    auto instances = devices.instances();
    if (!instances.empty()) pool.instances.push_back(std::move(instances));
  }
  // First fit takes whole GPUs and shares from the first GPU on, and instances from the last.
  if (!facts.partitionable.empty()) std::ranges::reverse(pool.instances);
  return pool;
}

std::vector<cluster::ResourceSlice> make_slices(Pool pool, const PoolNames& names,
                                                std::int64_t generation) {
  Slices slices(names, generation);
  slices.add_all(std::move(pool.counters));
  if (!pool.gpus.empty()) slices.begin();
  for (auto& device : pool.gpus) slices.add(std::move(device));
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
