#pragma once
// MPS v3 as NVIDIA documents it (release 615). The control daemon reads a configuration file once,
// at its start. Commands given as arguments, `module verb ...`, change a running daemon. Pure.
//
// Limits belong to namespaces and are set before any client starts. A namespace does not inherit
// from its server and is not bounded by the server's limits, so each namespace sets all values
// itself.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mps/daemon.h"
#include "mps/order.h"

namespace tranche::mps {

// The daemon's configuration, in TOML: one server with the daemon's GPUs, for clients of every
// user.
std::string configuration(const Daemon& daemon);

// `config`: the path of configuration(). With -m the one server serves users of any id.
Order start_order(const std::string& config);

// The status of the server: "Ready" once it serves. Empty: the server ended or never started (a GPU
// that the node does not have ends it), and clients would run without MPS.
Order server_list_order();
std::string status_of(const std::string& answer);
inline constexpr std::string_view kReady = "Ready";

std::vector<Order> change_orders(const Daemon& before, const Daemon& daemon);

// device_list_order() asks for the chunks of the server's GPUs. listed_chunks() extracts the total
// number of chunks of `uuid` from a line of the answer; nullopt: not in this line.
Order device_list_order();
std::optional<int> listed_chunks(const std::string& line, std::string_view uuid);
// Creates the partition of tranche `replica`.
Order create_partition_order(const std::string& uuid, int replica, int chunks);

}  // namespace tranche::mps
