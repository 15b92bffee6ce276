#pragma once
// GPUs that do not change, and leave service all the same: they share an MPS control daemon with
// one that does. One daemon serves all GPUs of a resource and opens each of them, so it has to end
// before the MIG mode of one of them can change, and its end is the end of its clients on all of
// them. The same holds where a GPU comes to a daemon. Pure.

#include <map>
#include <set>
#include <string>

#include "agent/loop/state.h"
#include "config/config.h"
#include "gpu/machine.h"
#include "mig/journal.h"

namespace tranche::agent {

struct MigBeside {
  // By UUID, and why: "shares the MPS control daemon of nvidia.com/gpu.shared with GPU 0".
  std::map<std::string, std::string> gpus;
  // Resources whose daemons end for the change, or begin after it.
  std::set<std::string> resources;
  // Of these: those whose daemon is to serve in the new layout.
  std::set<std::string> served_after;
  bool operator==(const MigBeside&) const = default;
};

// `machine`: with or without the change done; only what the journal names is taken from the
// journal.
MigBeside beside(const mig::Journal& journal, const gpu::Machine& machine,
                 const config::Config& config);

// "all of nvidia.com/gpu.shared leaves service, for one MPS control daemon serves its GPUs"; empty
// where nothing leaves service but what changes.
std::string describe(const MigBeside& beside);

// The machine as it is with these layouts.
gpu::Machine with_layouts(gpu::Machine machine, const mig::Layout& layouts);

}  // namespace tranche::agent
