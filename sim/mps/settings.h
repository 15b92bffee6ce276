#pragma once
// The setup of a control daemon: its command line, and MPS v3's configuration file.

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/mps/wire.h"

namespace tranche::sim::mps {

struct NamedServer {
  std::string name;
  std::optional<uid_t> uid;  // the user whose clients find it at the daemon's own socket
  std::string devices;       // GPU UUIDs with commas; empty: all
  MpsLimits limits;
  std::optional<std::uint64_t> memory;  // on every device
  struct Namespace {
    MpsLimits limits;
    std::optional<std::uint64_t> memory;
  };
  std::map<std::string, Namespace> namespaces;  // "default" is the server itself
};

struct DaemonOptions {
  bool foreground = false;
  bool multiuser = false;
  unsigned protocol = 2;
  bool static_partitions = false;    // -S, of protocol 2
  std::vector<NamedServer> servers;  // protocol 3
};

// Reads MPS v3's TOML file. kInvalidArgument: "file:line: what is wrong".
Result<std::vector<NamedServer>> read_config(const std::string& path);

}  // namespace tranche::sim::mps
