#pragma once
// Series of GPUs and MIG instances as dcgm-exporter writes them, so that its boards, alerts and
// autoscalers work. Pure.
//
// Labels: gpu (index), UUID, pci_bus_id, device, modelName, of an instance also GPU_I_PROFILE and
// GPU_I_ID (UUID is the GPU's), then those of the node, which differ between the generations:
//
//     names up to 4.8:  Hostname, hostname, DCGM_FI_DRIVER_VERSION
//     names of 4.9:     hostname, DCGM_FI_SYSTEM_DRIVER_VERSION
//     names of both:    all four
//
// Hostname became hostname in 4.8.3, so the older names have both spellings: a board of either
// finds its own. Never a Pod's labels: a device's figures under a Pod's name would be counted twice
// by any sum, and under several Pods' names many times.
//
// Of a GPU with MIG instances, memory and engines stand on the instances alone, everything else on
// the GPU alone. Compute instances of one GPU instance share both, so they are one series.

#include "metrics/exposition.h"
#include "metrics/node_figures.h"
#include "values/dcgm_names.h"

namespace tranche::metrics {

// Adds them to `out`. What is unknown has no line. GPUs by index, instances by GPU_I_ID; of two
// devices with the same labels only the first.
void write_device_series(Exposition& out, const NodeFigures& figures, DcgmNames names);

}  // namespace tranche::metrics
