#include "agent/metrics/tranche_parts.h"

#include <algorithm>

namespace tranche::agent {
namespace {

using holdings::Holding;
using usage::Mechanism;

double part_of_share(const Holding& share, const gpu::Gpu& gpu) {
  if (share.use == holdings::Use::kWhole || !share.part) return 1;
  const auto usable = gpu.usable_memory().value;
  if (share.part->memory && usable > 0) {
    const auto memory = static_cast<double>(share.part->memory->value);
    return std::min(1.0, memory / static_cast<double>(usable));
  }
  return share.part->permille ? *share.part->permille / 1000.0 : 1;
}

double part_of_replica(const Holding& replica, const offer::Offer& offer) {
  const auto* const resource = offer.find(replica.resource);
  if (resource == nullptr || !offer::is_replica_id(replica.id)) return 1;
  const auto device = std::ranges::find(resource->devices, replica.device, &offer::Device::uuid);
  if (device == resource->devices.end()) return 1;
  const auto counts = offer::tranche_counts(*resource);
  const auto index = static_cast<std::size_t>(device - resource->devices.begin());
  return 1.0 / std::max(1, counts.at(index));
}

double part_of_gpu(const DevicePlace& place) {
  const int all = place.gpu->mig_geometry.compute_slices;
  if (place.instance == nullptr || all <= 0) return 1;
  return static_cast<double>(place.instance->profile.compute_slices) / all;
}

Mechanism mechanism_of(const offer::ResourceOffer& resource) {
  if (resource.sharing == config::SharingStrategy::kMps) return Mechanism::kMps;
  if (resource.sharing != config::SharingStrategy::kNone) return Mechanism::kTimeSlicing;
  const bool is_mig = !resource.devices.empty() && resource.devices.front().mig;
  return is_mig ? Mechanism::kMig : Mechanism::kExclusive;
}

}  // namespace

Mechanism mechanism_of(const Holding& holding, bool is_instance) {
  if (holding.wire == holdings::Wire::kNone) return Mechanism::kNone;
  switch (holding.use) {
    case holdings::Use::kWhole:
      return is_instance ? Mechanism::kMig : Mechanism::kExclusive;
    case holdings::Use::kTimeSliced:
      return holding.wire == holdings::Wire::kClaim ? Mechanism::kShare : Mechanism::kTimeSlicing;
    case holdings::Use::kMps:
      return Mechanism::kMps;
    case holdings::Use::kShared:
      break;
  }
  return Mechanism::kShare;
}

double gpus_of(const Holding& holding, const DevicePlace& place, const offer::Offer& offer) {
  if (holding.wire == holdings::Wire::kNone) return 0;
  const bool is_replica = holding.wire == holdings::Wire::kDevicePlugin;
  return part_of_gpu(place) *
         (is_replica ? part_of_replica(holding, offer) : part_of_share(holding, *place.gpu));
}

std::vector<usage::TrancheCount> count_tranches(const offer::Offer& offer,
                                                const holdings::Holdings& held) {
  std::vector<usage::TrancheCount> counts;
  for (const auto& resource : offer.resources) {
    usage::TrancheCount count{.resource = resource.name.value,
                              .mechanism = mechanism_of(resource),
                              .advertised = resource.tranches.size()};
    for (const auto& tranche : resource.tranches) {
      if (!offer::is_healthy(resource, tranche)) ++count.withheld;
    }
    for (const auto& holding : held) {
      count.allocated += holding.wire == holdings::Wire::kDevicePlugin &&
                         holding.state != holdings::State::kReserved &&
                         holding.resource == resource.name;
    }
    counts.push_back(std::move(count));
  }
  return counts;
}

}  // namespace tranche::agent
