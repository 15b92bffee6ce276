#pragma once
// Which MPS control daemons a node needs and what each is told, as a pure function of what it
// offers. The supervisor (agent/mps/mps_supervisor.h) carries it out.
//
// One daemon for each resource that is shared by MPS, as NVIDIA's mps-control-daemon, in folders of
// the same names:
//
//     /mps/<resource>/pipe       sockets, mounted into containers; stays when the daemon ends
//     /mps/<resource>/log        control.log, server.log
//     /mps/<resource>/.started   while the daemon serves
//     /mps/.ready                while all do
//     /mps/shm                   the containers' /dev/shm

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "config/resource_name.h"
#include "gpu/machine.h"
#include "mps/daemon.h"
#include "offer/offer.h"

namespace tranche::mps {

using Plan = std::vector<Daemon>;  // by resource

// The daemons of an offer's MPS resources; none for one whose devices are all whole. `rules`: what
// the node's program can do of the configuration's (mps/capability.h).
Plan make_plan(const gpu::Machine& machine, const offer::Offer& offer,
               const config::MpsControlRules& rules = {});

// Why GPUs of an MPS resource cannot be cut into static SM partitions; empty: they can. Its clients
// are limited by percentages then, all of them.
std::string partitions_objection(const gpu::Machine& machine, const offer::ResourceOffer& resource);

struct Paths {
  std::filesystem::path pipe;
  std::filesystem::path log;
  std::filesystem::path started;
};
// `root`: "/mps".
Paths paths_of(const std::filesystem::path& root, const config::ResourceName& resource);

// What a daemon and everything that talks to it have in their environment.
std::map<std::string, std::string> environment_of(const std::filesystem::path& root,
                                                  const Daemon& daemon);

}  // namespace tranche::mps
