#pragma once
// Series of our own about what containers have of devices, at most 12 for a container and device,
// and one for each container that OpenCost reads. Pure.
//
// Labels: namespace, pod, container, resource, mechanism, tier (where a GPUTier serves it), gpu
// (UUID), device (UUID: the GPU's or the MIG instance's), mig_profile (of an instance), node.
// Nothing that changes while a Pod runs: no pid, no image, no Pod's labels; so an unchanged Pod
// makes new series only when the cluster's tiers change. Prometheus must keep these labels
// (honorLabels), or it renames namespace, pod and container.
//
// container_gpu_allocation has namespace, pod, container and node, and one line for each container,
// with the sum over its devices: OpenCost takes the mean of all lines of a container, so two lines
// of 1 would be 1 GPU and not 2. One that was given nothing (mechanism "none") has none.

#include <cstddef>

#include "metrics/exposition.h"
#include "metrics/node_figures.h"

namespace tranche::metrics {

// Adds at most `most` series to `out`, and returns how many were left out. Containers are in the
// order of namespace, pod and name; where the next one does not fit as a whole, it and all after it
// are left out. Of two entries with the same labels only the first is written.
std::size_t write_container_series(Exposition& out, const NodeFigures& figures, std::size_t most);

}  // namespace tranche::metrics
