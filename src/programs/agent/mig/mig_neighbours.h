#pragma once
// GPUs that leave service without being changed: they share an MPS control daemon with one that
// changes. A daemon opens all GPUs of its resource, so it has to end, with its clients on all of
// them, before the MIG mode of one can change, and when a GPU is added to it. Pure.

#include <map>
#include <set>
#include <string>

#include "agent/loop/state.h"
#include "config/config.h"
#include "gpu/machine.h"
#include "mig/journal.h"

namespace tranche::agent {

struct MigNeighbours {
  // By UUID, and why: "shares the MPS control daemon of nvidia.com/gpu.shared with GPU 0".
  std::map<std::string, std::string> gpus;
  // Resources whose daemons end for the change, or start after it.
  std::set<std::string> resources;
  // Those of `resources` whose daemon serves in the new layout.
  std::set<std::string> served_after;
  bool operator==(const MigNeighbours&) const = default;
};

// `machine`: before or after the change; what the journal names is taken from the journal.
MigNeighbours neighbours(const mig::Journal& journal, const gpu::Machine& machine,
                         const config::Config& config);

// "all of nvidia.com/gpu.shared leaves service, for one MPS control daemon serves its GPUs"; empty
// if only what changes leaves service.
std::string describe(const MigNeighbours& neighbours);

gpu::Machine with_layouts(gpu::Machine machine, const mig::Layout& layouts);

}  // namespace tranche::agent
