#pragma once
// Computes the fleet from Nodes and ResourceSlices. Pure.
//
// A model counts if our driver publishes a device of it that allows several claims at once, with
// its memory. Models are sorted from small to large: a share goes to the smallest GPU that has
// room, and large ones stay free for those who need them.
//
// A replica is a resource nvidia.com/gpu or nvidia.com/gpu.shared, one of which is a part of a GPU
// by the node's labels (docs/reference/labels.md). The scheduler may place a Pod on any node that
// has the resource, so the smallest part among all nodes counts, and it is enforced only if every
// node enforces it. A resource that is a MIG instance on some node does not count: its part of a
// GPU is unknown.

#include <string>
#include <string_view>
#include <vector>

#include "admission/fleet.h"
#include "cluster/node.h"
#include "cluster/resource_slice.h"

namespace tranche::admission {

// `driver`: whose slices count.
std::vector<DraModel> models_of(const std::vector<cluster::ResourceSlice>& slices,
                                std::string_view driver);

// Whether the driver allocates its GPUs only whole: Kubernetes drops the fields that make them
// shareable, or nothing limits containers. For a fleet without models.
bool gives_whole_alone(const std::vector<cluster::ResourceSlice>& slices, std::string_view driver);

std::vector<Replica> replicas_of(const std::vector<cluster::Node>& nodes);

}  // namespace tranche::admission
