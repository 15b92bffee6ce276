#pragma once
// An MPS control daemon in values: the GPUs that it serves, and what its clients may have.
//
// A daemon sees the GPUs by NVML's index. Where its resource has only some of the machine's, it is
// shown these alone (CUDA_VISIBLE_DEVICES): its server opens every GPU that it sees, and a GPU in
// exclusive mode belongs to one server. CUDA then counts them anew.
//
// By tranche.mps.protocol one speaks with a daemon (mps/protocol.h). With some protocols it has one
// server, `shared`, and namespaces in it: folders below `pipe`, of which a container has one. With
// static SM partitions each tranche has multiprocessors of its own (mps/partitions.h).

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "config/config.h"
#include "config/resource_name.h"

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

// What a group of clients may have, where the protocol knows such groups.
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
  std::vector<Namespace> namespaces = {};  // where the protocol has them; `default` is the first
  config::SmPartitions partitions = {};
  bool operator==(const Daemon&) const = default;
};

inline bool has_partitions(const Daemon& daemon) {
  return !std::holds_alternative<std::monostate>(daemon.partitions);
}

}  // namespace tranche::mps
