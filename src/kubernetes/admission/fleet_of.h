#pragma once
// The fleet as Nodes and ResourceSlices tell it. Pure.
//
// A model counts where our driver publishes a device of it that several claims may have at once,
// with its memory. Small models stand first: a share goes to the smallest GPU that has room, and
// large ones stay free for who needs them.
//
// A replica is what a node's device plugin calls nvidia.com/gpu or nvidia.com/gpu.shared, where
// the node's labels say that one of them is a part of a GPU (docs/reference/labels.md). The
// scheduler may place a Pod on any node that has the resource, so the smallest part among all nodes
// counts, and it is enforced only if it is on all of them. A resource that is a MIG instance
// somewhere counts as none: nobody can say what part of a GPU it is.

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

// Whether the driver's GPUs are given out whole alone: Kubernetes drops what makes them shareable,
// or nothing limits containers. Asked where there is no model.
bool gives_whole_alone(const std::vector<cluster::ResourceSlice>& slices, std::string_view driver);

std::vector<Replica> replicas_of(const std::vector<cluster::Node>& nodes);

}  // namespace tranche::admission
