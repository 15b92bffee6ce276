#pragma once
// Compares what kubelet gives out with what this agent offers. Pure.
//
// For a resource kubelet has one list, the last one from any plugin that ever registered for it,
// and asks the plugin that registered last. So with two plugins on a node list and plugin may not
// match (decision 25).

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cluster/pod_resources.h"
#include "offer/offer.h"

namespace tranche::agent {

struct OfferedIds {
  std::set<std::string> healthy;
  std::set<std::string> all;
  bool operator==(const OfferedIds&) const = default;
};
using OurIds = std::map<std::string, OfferedIds>;  // by resource

OurIds ids_of(const offer::Offer& offer);

enum class Served {
  kOurs,   // exactly our healthy ids
  kNone,   // no id, though we offer some
  kPart,   // ids of ours, but not the healthy ones
  kOther,  // ids that are not ours
};

// How kubelet gives out one of our resources.
struct ServedResource {
  Served served = Served::kOurs;
  std::size_t ours = 0;       // how many healthy ids we offer
  std::set<std::string> ids;  // kubelet's
  bool operator==(const ServedResource&) const = default;
};

std::map<std::string, ServedResource> compare(const OurIds& ours,
                                              const cluster::AllocatableDevices& kubelets);

// Resources of other plugins whose ids name a GPU or MIG instance of the offer, and so share
// devices with ours. Ids are compared by the UUID at their beginning, so plugins with other names
// for GPUs are not found.
std::vector<std::string> rivals(const offer::Offer& offer,
                                const cluster::AllocatableDevices& kubelets);

}  // namespace tranche::agent
