#pragma once
// One GPU, one promise: finds what running containers hold under an earlier promise that does not
// go together with what the offer would hand out now, and withholds that until they are gone. Pure.
// docs/decisions/0023-promises.md has the rules and what was rejected.
//
// Between a promise and a device of the offer:
//   - the same resource and an id that the offer has: kubelet counts it, nothing is withheld;
//   - the same resource, shared by time-slicing, held under another number or as a whole: kubelet
//     and the scheduler count it
//     against the resource, nothing is withheld. Which device a new container gets is chosen with
//     that in mind (ResourceOffer::beyond);
//   - another resource, shared in the same way: each holder takes one tranche, and more where the
//     parts that their tenants keep and those of the tranches would be more than the device;
//   - anything else (whole against shared, time-slicing against MPS, whole under another name, a
//     GPU against its MIG instances): the whole device.

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "offer/grant.h"
#include "offer/offer.h"

namespace tranche::offer {

// How containers with tranches of `device` (an index of ResourceOffer::devices) use it.
Use use_of(const ResourceOffer& offer, std::size_t device);
// The same of a stored grant, for each of its ids.
Use use_of(const Grant& grant, std::string_view id);
// The same of an id of which nothing else is known.
Use use_of(std::string_view id);

// Whether containers cannot use one device in both ways at a time.
bool at_odds(Use a, Use b);
// Whether who holds a device in the one way goes along when the *same* resource offers it in the
// other one: a whole GPU of nvidia.com/gpu becomes one of its replicas.
bool follows(Use held, Use offered);

// Those of `promises` that are about devices of which some tranche must be withheld. Empty as long
// as everything that is held is what the offer offers.
std::vector<Promise> find_at_odds(std::span<const Promise> promises, const Offer& offer);

// Marks what is withheld for `promises`, as returned by find_at_odds(), and fills Offer::held.
void withhold_promised(std::span<const Promise> promises, Offer& offer);

// ResourceOffer::beyond of each resource of which something is held beyond the offer.
std::map<config::ResourceName, std::vector<int>> count_beyond(std::span<const Promise> promises,
                                                              const Offer& offer);

// "default/a, default/b and 3 more": whose they are, at most 16 by name. Promises whose Pod is not
// known are counted as "containers that kubelet does not name".
std::string describe_holders(std::span<const Promise> promises);
// "nvidia.com/gpu on GPU 0 (GPU-...) is held: nvidia.com/gpu.shared by default/a, default/b".
std::string describe(const HeldDevice& held);

}  // namespace tranche::offer
