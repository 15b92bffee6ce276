#include "dra/publication.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

namespace tranche::dra {
namespace {

using cluster::ResourceSlice;
using cluster::SliceDevice;

// The API server sets a taint's time; an existing taint keeps it.
void keep_times(const SliceDevice& there, SliceDevice& wanted) {
  for (auto& taint : wanted.taints) {
    const auto same = std::ranges::find_if(there.taints, [&](const cluster::DeviceTaint& one) {
      return one.key == taint.key && one.value == taint.value && one.effect == taint.effect;
    });
    if (taint.since.empty() && same != there.taints.end()) taint.since = same->since;
  }
}

void keep_times(const ResourceSlice& there, ResourceSlice& wanted) {
  std::map<std::string, const SliceDevice*> devices;
  for (const auto& device : there.devices) devices.emplace(device.name, &device);
  for (auto& device : wanted.devices) {
    const auto found = devices.find(device.name);
    if (found != devices.end()) keep_times(*found->second, device);
  }
}

// Whether the slices are one complete generation, whatever their content.
bool is_whole(const std::map<std::string, const ResourceSlice*>& there,
              const std::vector<ResourceSlice>& wanted) {
  if (there.size() != wanted.size()) return false;
  return std::ranges::all_of(wanted, [&](const ResourceSlice& slice) {
    const auto found = there.find(slice.name);
    if (found == there.end()) return false;
    const auto& pool = found->second->pool;
    return pool.name == slice.pool.name && pool.slices == slice.pool.slices &&
           pool.generation == there.begin()->second->pool.generation;
  });
}

std::int64_t last_generation(const std::vector<ResourceSlice>& there) {
  std::int64_t last = 0;
  for (const auto& slice : there) last = std::max(last, slice.pool.generation);
  return last;
}

}  // namespace

std::vector<SliceWrite> writes_for(const std::vector<ResourceSlice>& there, Pool wanted,
                                   const PoolNames& names, const cluster::OwnerReference& owner) {
  std::map<std::string, const ResourceSlice*> known;
  for (const auto& slice : there) known.emplace(slice.name, &slice);
  auto slices = make_slices(std::move(wanted), names, last_generation(there));
  const bool whole = is_whole(known, slices);
  std::vector<SliceWrite> writes;
  for (auto& slice : slices) {
    if (!whole) slice.pool.generation = last_generation(there) + 1;
    slice.owners = {owner};
    auto found = known.find(slice.name);
    if (found != known.end() && found->second->pool.name != slice.pool.name) {
      writes.push_back({SliceWrite::Kind::kDelete, *found->second});  // its pool is immutable
      known.erase(found);
      found = known.end();
    }
    if (found == known.end()) {
      writes.push_back({SliceWrite::Kind::kCreate, std::move(slice)});
      continue;
    }
    slice.uid = found->second->uid;
    slice.resource_version = found->second->resource_version;
    keep_times(*found->second, slice);
    if (slice != *found->second) writes.push_back({SliceWrite::Kind::kUpdate, std::move(slice)});
    known.erase(found);
  }
  for (const auto& [name, slice] : known) writes.push_back({SliceWrite::Kind::kDelete, *slice});
  return writes;
}

Dropped dropped_fields(const ResourceSlice& written, const ResourceSlice& answer) {
  Dropped dropped{.counters = written.counters != answer.counters};
  for (std::size_t i = 0; i < std::min(written.devices.size(), answer.devices.size()); ++i) {
    const auto& wrote = written.devices[i];
    const auto& got = answer.devices[i];
    dropped.shares =
        dropped.shares || wrote.shareable != got.shareable || wrote.capacity != got.capacity;
    dropped.counters = dropped.counters || wrote.consumes != got.consumes;
    dropped.taints = dropped.taints || wrote.taints.size() != got.taints.size();
  }
  return dropped;
}

std::string describe(const Dropped& dropped) {
  if (!dropped.any()) return {};
  std::vector<std::string_view> lost;
  if (dropped.shares) lost.emplace_back("shares of GPUs (DRAConsumableCapacity)");
  if (dropped.counters)
    lost.emplace_back("MIG instances made for claims (DRAPartitionableDevices)");
  if (dropped.taints) {
    lost.emplace_back(
        "taints (DRADeviceTaints; a device that is ill is taken out of the ResourceSlices instead, "
        "and nobody is evicted)");
  }
  if (dropped.names) {
    lost.emplace_back(
        "whole GPUs for plain Pods that ask for one by its resource name (DRAExtendedResource)");
  }
  if (dropped.health) {
    lost.emplace_back(
        "the health of devices in Pods' status (ResourceHealthStatus, off at this node's kubelet)");
  }
  return fmt::format(
      "feature gates of Kubernetes are off, and claims on this node do without {}: turn them on at "
      "the API server, the controller manager, the scheduler and every kubelet (--feature-gates), "
      "then {}restart the agents",
      fmt::join(lost, ", "),
      dropped.names ? "apply the DeviceClasses again (helm upgrade) and " : "");
}

}  // namespace tranche::dra
