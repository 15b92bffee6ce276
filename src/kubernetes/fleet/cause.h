#pragma once
// Why a Pod waits: the words of the scheduler, of kubelet and of its containers, and where there is
// room for it. Pure.
//
// A message of the scheduler names a reason for each node, most of which concern nodes that have no
// GPU. The cause that is told is the one that would have to change where the resource is:
//   1. no node has the resource: kNoSuchResource
//   2. no open node has as many left: kNotEnough; but kTaint if a closed one has (cordoned, not
//      ready)
//   3. of the open nodes that have enough left, some are looked at: do their taints keep the Pod
//      off, does its node selector leave them out?
//   4. else what the message names, the last check of the scheduler first: other resources, then
//      affinity, quota, taints
// Of a Pod that has only claims, the message alone tells.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/facts.h"

namespace tranche::fleet {

// Where a resource is.
struct Room {
  const NodeFacts* node = nullptr;  // never null
  std::uint64_t left = 0;           // that nobody has, also on a closed node
  bool open = false;
};
using Rooms = std::map<std::string, std::vector<Room>>;  // by resource; the most left first

struct Explained {
  Cause cause = Cause::kUnknown;
  std::string message{};
};

// Of a Pod that has not ended, and does not run.
Explained explain(const Facts& facts, const Rooms& rooms, const PodFacts& pod);

// Whether kubelet refused the Pod, which is therefore Failed. nullopt: not so.
std::optional<Explained> explain_rejection(const PodFacts& pod);

// The cause that the scheduler's message names, whatever room there is: the last of its checks
// that failed somewhere. kUnknown: none that we know.
Cause cause_in(std::string_view message);

// Fit to be shown: at most 1024 bytes, without control characters.
std::string shown(std::string_view message);

}  // namespace tranche::fleet
