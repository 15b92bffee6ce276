#pragma once
// Which GPUs are linked by NVLink, directly, through others or through NVSwitches: one island.
// Links that are down do not count. Pure.

#include <map>
#include <string>

#include "gpu/machine.h"
#include "offer/preferred.h"

namespace tranche::dra {

// The same text for GPUs of one island: of a GPU on a fabric "<cluster>.<clique>", else
// "island-<index of its first GPU>". A GPU that is linked to none has none. `links`: null: not read
// yet.
std::map<gpu::GpuUuid, std::string> islands_of(const gpu::Machine& machine,
                                               const offer::Links* links);

}  // namespace tranche::dra
