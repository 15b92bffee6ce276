#pragma once
// One GPU, one promise: finds holdings of running containers that conflict with what the offer
// would allocate now, and withholds that until they are gone. Pure. docs/decisions/0023-promises.md
// has the rules and what was rejected.
//
// Between a holding and a device of the offer:
//   - the same resource and an id that the offer has: kubelet counts it, nothing is withheld;
//   - the same resource, shared by time-slicing, held under another number or as a whole: kubelet
//     and the scheduler count it against the resource, nothing is withheld. The choice of a new
//     container's device considers it (ResourceOffer::beyond);
//   - another resource, shared in the same way: each holder takes one tranche, and more where the
//     parts that their tenants keep and those of the tranches would exceed the device;
//   - anything else (whole against shared, time-slicing against MPS, whole under another name, a
//     GPU against its MIG instances): the whole device.

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "holdings/holding.h"
#include "offer/grant.h"
#include "offer/offer.h"

namespace tranche::offer {

using holdings::Holding;
using holdings::Use;

// How containers with tranches of `device` (an index of ResourceOffer::devices) use it.
Use use_of(const ResourceOffer& offer, std::size_t device);
// The same for each id of a stored grant.
Use use_of(const Grant& grant, std::string_view id);
// The same for an id of which nothing else is known.
Use use_of(std::string_view id);

// Those of `held` on devices of which some tranche must be withheld. Empty as long
// as all holdings match the offer.
std::vector<Holding> find_at_odds(std::span<const Holding> held, const Offer& offer);

// Marks what is withheld because of `held`, the result of find_at_odds(), and fills Offer::held.
void withhold_held(std::span<const Holding> held, Offer& offer);

// ResourceOffer::beyond of each resource with holdings beyond the offer.
std::map<config::ResourceName, std::vector<int>> count_beyond(std::span<const Holding> held,
                                                              const Offer& offer);

// "nvidia.com/gpu on GPU 0 (GPU-...) is held: nvidia.com/gpu.shared by default/a, default/b".
std::string describe(const HeldDevice& held);

}  // namespace tranche::offer
