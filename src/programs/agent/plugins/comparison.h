#pragma once
// Compares what kubelet gives out with what this agent offers. Pure.
//
// Kubelet has one list for a resource: the last one that any plugin sent that ever registered for
// it. It asks the plugin that registered last. So with two plugins on a node the list and the
// plugin that is asked can be two different ones' (decision 25).

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cluster/pod_resources.h"
#include "offer/offer.h"

namespace tranche::agent {

// The ids that one resource has.
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

// Resources of other plugins whose ids name a GPU or MIG instance of the offer: what holds one of
// them shares a device with what holds one of ours. Ids are compared by the UUID that they begin
// with, so plugins with other names for GPUs are not seen.
std::vector<std::string> rivals(const offer::Offer& offer,
                                const cluster::AllocatableDevices& kubelets);

}  // namespace tranche::agent
