#pragma once
// MPS v3 as NVIDIA documents it (release 615): a configuration file that the control daemon reads
// once, at its start, and commands as arguments, `module verb ...`, which change what runs. Pure.
//
// Limits are the namespaces', and there before any client: a namespace takes nothing from its
// server and is not held by what that has, so each has its own of everything.

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

// `config`: where configuration() stands. Users of any id are served by the one server (-m).
Order start_order(const std::string& config);

// How the server is: "Ready" once it serves; empty: it is not there any more, or never was (a GPU
// that the node does not have ends it), and clients would run without MPS.
Order server_list_order();
std::string status_of(const std::string& answer);
inline constexpr std::string_view kReady = "Ready";

// From one daemon's namespaces to another's, for clients that begin from then on. A namespace that
// goes is left to the clients that it has; who gets it is nobody new.
std::vector<Order> change_orders(const Daemon& before, const Daemon& daemon);

// What the server's GPUs have; of a line of the answer how many chunks `uuid` has in all, nullopt:
// the line does not say so.
Order device_list_order();
std::optional<int> listed_chunks(const std::string& line, std::string_view uuid);
// Makes the partition of tranche `replica`.
Order create_partition_order(const std::string& uuid, int replica, int chunks);

}  // namespace tranche::mps
