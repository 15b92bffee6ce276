#pragma once
// The size of the message that tells kubelet the tranches of a resource
// (v1beta1.ListAndWatchResponse). Pure. deviceplugin/ writes the message and has a test that
// compares it with this count.

#include <cstddef>
#include <span>

#include "offer/offer.h"

namespace tranche::offer {

// The maximum message size of kubelet's gRPC client: grpc-go's default, which kubelet keeps.
inline constexpr std::size_t kLongestList = std::size_t{4} << 20U;

// A device, and the number of its replicas (1: it is not shared).
struct Listed {
  const Device* device = nullptr;
  int replicas = 1;
};

// The size if every tranche is unhealthy, which is the maximum for the message. `at_most`: a bound
// on the replicas of each device.
std::size_t list_bytes(std::span<const Listed> devices, int at_most);
std::size_t list_bytes(std::span<const Listed> devices);

// The most replicas of each device for which the list fits into kLongestList; 0: there are too many
// devices.
int most_replicas(std::span<const Listed> devices);

}  // namespace tranche::offer
