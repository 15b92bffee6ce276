#include "agent/plugins/comparison.h"

#include <algorithm>

namespace tranche::agent {
namespace {

Served served(const OfferedIds& ours, const std::set<std::string>& kubelets) {
  if (kubelets == ours.healthy) return Served::kOurs;
  const bool all_ours = std::ranges::includes(ours.all, kubelets);
  if (!all_ours) return Served::kOther;
  return kubelets.empty() ? Served::kNone : Served::kPart;
}

}  // namespace

OurIds ids_of(const offer::Offer& offer) {
  OurIds ids;
  for (const auto& resource : offer.resources) {
    auto& mine = ids[resource.name.value];
    for (const auto& tranche : resource.tranches) {
      mine.all.insert(tranche.id);
      if (offer::is_healthy(resource, tranche)) mine.healthy.insert(tranche.id);
    }
  }
  return ids;
}

std::map<std::string, ServedResource> compare(const OurIds& ours,
                                              const cluster::AllocatableDevices& kubelets) {
  std::map<std::string, ServedResource> found;
  for (const auto& [resource, ids] : ours) {
    const auto theirs = kubelets.find(resource);
    auto listed = theirs == kubelets.end() ? std::set<std::string>() : theirs->second;
    const auto how = served(ids, listed);
    found.emplace(resource, ServedResource{how, ids.healthy.size(), std::move(listed)});
  }
  return found;
}

std::vector<std::string> rivals(const offer::Offer& offer,
                                const cluster::AllocatableDevices& kubelets) {
  std::set<std::string> devices;
  for (const auto& resource : offer.resources) {
    for (const auto& device : resource.devices) devices.insert({device.uuid, device.gpu_uuid});
  }
  const auto is_ours = [&](const std::string& id) {
    return devices.contains(std::string(offer::device_uuid_of(id)));
  };
  std::vector<std::string> found;
  for (const auto& [resource, ids] : kubelets) {
    if (offer.find({resource}) != nullptr) continue;
    if (std::ranges::any_of(ids, is_ours)) found.push_back(resource);
  }
  return found;
}

}  // namespace tranche::agent
