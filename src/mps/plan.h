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
//
// A daemon sees the GPUs by NVML's index. Where its resource has only some of the machine's, it is
// shown these alone (CUDA_VISIBLE_DEVICES): its server opens every GPU that it sees, and a GPU in
// exclusive mode belongs to one server. CUDA then counts them anew.
//
// With protocol 3 (tranche.mps.protocol) a daemon has one server, `shared`, that its configuration
// file names, and namespaces in it: folders below `pipe`, of which a container has one. With static
// SM partitions each tranche has multiprocessors of its own (mps/partitions.h).

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/resource_name.h"
#include "gpu/machine.h"
#include "offer/offer.h"

namespace tranche::mps {

// A GPU of a daemon's, and what each client process may have of it.
struct DaemonDevice {
  std::string uuid;
  int index = 0;                                // as the daemon counts
  std::uint64_t memory_mib = 0;                 // of the whole device; 0: the driver does not tell
  std::optional<std::uint64_t> limit_mib = {};  // nullopt: none
  int replicas = 0;                             // with partitions: one for each
  bool operator==(const DaemonDevice&) const = default;
};

// Of protocol 3.
struct Namespace {
  std::string name;
  std::optional<std::uint64_t> limit_mib;  // on each GPU; nullopt: none
  int thread_percentage = 100;
  bool operator==(const Namespace&) const = default;
};

struct Daemon {
  config::ResourceName resource;
  std::vector<DaemonDevice> devices;  // by index
  bool sees_all = true;               // every GPU of the machine is one of `devices`
  int thread_percentage = 100;        // default of each client process
  int protocol = 2;
  std::vector<Namespace> namespaces = {};  // with protocol 3; `default` is the first
  config::SmPartitions partitions = {};
  bool operator==(const Daemon&) const = default;
};

using Plan = std::vector<Daemon>;  // by resource

inline bool has_partitions(const Daemon& daemon) {
  return !std::holds_alternative<std::monostate>(daemon.partitions);
}

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

// What a daemon is told after its start, one command a process, in NVIDIA's order: memory of each
// device, then the percentage. They count for servers that it starts from then on.
std::vector<std::string> default_commands(const Daemon& daemon);

// The question that a daemon which lives answers with a number.
inline constexpr const char* kQuestion = "get_default_active_thread_percentage";
inline constexpr const char* kServers = "get_server_list";
inline constexpr const char* kQuit = "quit";

}  // namespace tranche::mps
