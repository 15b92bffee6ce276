#pragma once
// GPUs that leave service although they do not change: they share an MPS control daemon with one
// that does. A daemon opens all GPUs of its resource, so it has to end before the MIG mode of one
// of them can change, and its clients on all of them end with it. It also ends when a GPU is added
// to it. Pure.

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
  // Resources whose daemons end for the change, or begin after it.
  std::set<std::string> resources;
  // Those of `resources` whose daemon serves in the new layout.
  std::set<std::string> served_after;
  bool operator==(const MigNeighbours&) const = default;
};

// `machine`: with or without the change done; only what the journal names is taken from the
// journal.
MigNeighbours neighbours(const mig::Journal& journal, const gpu::Machine& machine,
                         const config::Config& config);

// "all of nvidia.com/gpu.shared leaves service, for one MPS control daemon serves its GPUs"; empty
// where nothing leaves service but what changes.
std::string describe(const MigNeighbours& neighbours);

// The machine as it is with these layouts.
gpu::Machine with_layouts(gpu::Machine machine, const mig::Layout& layouts);

}  // namespace tranche::agent
