#pragma once
// An MPS control daemon as a value: its GPUs, and the limits of its clients.
//
// A daemon knows the GPUs by NVML's index. If its resource has only some of the machine's GPUs,
// the daemon sees only these (CUDA_VISIBLE_DEVICES). Its server opens every GPU that it sees, and
// a GPU in exclusive mode belongs to one server. CUDA then numbers the visible GPUs from 0.
//
// tranche.mps.protocol selects the protocol of the daemon (mps/protocol.h). With some protocols
// the daemon has one server, `shared`, with namespaces: folders below `pipe`, of which each
// container has one. With static SM partitions each tranche has its own multiprocessors
// (mps/partitions.h).

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "config/config.h"
#include "config/resource_name.h"

namespace tranche::mps {

// A GPU of a daemon, and the limits of each client process on it.
struct DaemonDevice {
  std::string uuid;
  int index = 0;                 // the daemon's own index
  std::uint64_t memory_mib = 0;  // of the whole device; 0: not reported by the driver
  std::optional<std::uint64_t> limit_mib = {};  // nullopt: none
  int replicas = 0;                             // with partitions: one partition for each
  bool operator==(const DaemonDevice&) const = default;
};

// The limits of a group of clients, where the protocol has such groups.
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
  std::vector<Namespace> namespaces = {};  // only if the protocol supports them; `default` is first
  config::SmPartitions partitions = {};
  // Its limits are left open, for claims (mps/open_file.h).
  bool open = false;
  bool operator==(const Daemon&) const = default;
};

inline bool has_partitions(const Daemon& daemon) {
  return !std::holds_alternative<std::monostate>(daemon.partitions);
}

}  // namespace tranche::mps
