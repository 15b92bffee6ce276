#include "offer/offer.h"

#include <fmt/format.h>

namespace tranche::offer {

bool is_healthy(const ResourceOffer& offer, const Tranche& tranche) {
  return offer.devices[tranche.device].healthy() && !tranche.withheld;
}

std::string replica_id(std::string_view uuid, int replica) {
  return fmt::format("{}::{}", uuid, replica);
}

std::string_view device_uuid_of(std::string_view id) { return id.substr(0, id.find("::")); }

bool is_replica_id(std::string_view id) { return id.find("::") != std::string_view::npos; }

std::vector<int> tranche_counts(const ResourceOffer& offer) {
  std::vector<int> counts(offer.devices.size());
  for (const Tranche& tranche : offer.tranches) ++counts[tranche.device];
  return counts;
}

int slot_of(const Device& device) {
  const std::size_t colon = device.index.find(':');
  return colon == std::string::npos ? -1 : std::stoi(device.index.substr(colon + 1));
}

const ResourceOffer* Offer::find(const ResourceName& name) const {
  const auto found = std::ranges::find(resources, name, &ResourceOffer::name);
  return found == resources.end() ? nullptr : &*found;
}

}  // namespace tranche::offer
