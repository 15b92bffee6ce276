#include "offer/offer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace tranche::offer {

std::string name_of(const Device& device) {
  return fmt::format("{} {} ({})", device.mig ? "MIG device" : "GPU", device.index, device.uuid);
}

std::string describe(const Withheld& withheld) {
  const auto what =
      withheld.devices.empty()
          ? withheld.name.value
          : fmt::format("{} of {}", fmt::join(withheld.devices, ", "), withheld.name.value);
  return fmt::format("{}: {}", what, withheld.reason);
}

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

const ResourceOffer* Offer::find(const config::ResourceName& name) const {
  const auto found = std::ranges::find(resources, name, &ResourceOffer::name);
  return found == resources.end() ? nullptr : &*found;
}

}  // namespace tranche::offer
