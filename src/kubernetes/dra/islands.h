#pragma once
// Groups GPUs linked by NVLink, directly, through others or through NVSwitches, into islands. Links
// that are down do not count. Pure.

#include <map>
#include <string>

#include "gpu/machine.h"
#include "offer/preferred.h"

namespace tranche::dra {

// The same text for GPUs of one island: "<cluster>.<clique>" for a GPU on a fabric, else
// "island-<index of its first GPU>". A GPU without links has none. `links`: null: not read
// yet.
std::map<gpu::GpuUuid, std::string> islands_of(const gpu::Machine& machine,
                                               const offer::Links* links);

}  // namespace tranche::dra
