#pragma once
// The MPS control daemons that a node needs, and their settings, as a pure function of the node's
// offer. The supervisor (agent/mps/mps_supervisor.h) carries the plan out.
//
// There is one daemon for each resource that MPS shares, as with NVIDIA's mps-control-daemon, in
// folders of the same names:
//
//     /mps/<resource>/pipe       sockets, mounted into containers; stays when the daemon ends
//     /mps/<resource>/log        control.log, server.log
//     /mps/<resource>/.started   exists while the daemon serves
//     /mps/.ready                exists while all daemons serve
//     /mps/shm                   the containers' /dev/shm

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "config/resource_name.h"
#include "gpu/machine.h"
#include "mps/daemon.h"
#include "offer/offer.h"

namespace tranche::mps {

using Plan = std::vector<Daemon>;  // by resource

// The daemons of an offer's MPS resources. A resource whose devices are all whole has no daemon.
// `rules`: the settings that work with the node's program (mps/capability.h). `open`: the resources
// whose daemons set no limits (mps/open_file.h). These have no static SM partitions either:
// partitions have the tranches' size, and claims may have any size.
Plan make_plan(const gpu::Machine& machine, const offer::Offer& offer,
               const config::MpsControlRules& rules = {}, const std::set<std::string>& open = {});

// `plan`, plus the currently running daemons (`before`) whose resource `offer` withholds, so that
// their clients continue. Excludes daemons with a GPU that is now in MIG mode.
Plan keep_withheld(Plan plan, const Plan& before, const gpu::Machine& machine,
                   const offer::Offer& offer);

// Why GPUs of an MPS resource cannot have static SM partitions; empty: they can. Otherwise all
// clients of the resource are limited by percentages.
std::string partitions_objection(const gpu::Machine& machine, const offer::ResourceOffer& resource);

struct Paths {
  std::filesystem::path pipe;
  std::filesystem::path log;
  std::filesystem::path started;
};
// `root`: "/mps".
Paths paths_of(const std::filesystem::path& root, const config::ResourceName& resource);

// The environment of a daemon and of every program that talks to it.
std::map<std::string, std::string> environment_of(const std::filesystem::path& root,
                                                  const Daemon& daemon);

}  // namespace tranche::mps
