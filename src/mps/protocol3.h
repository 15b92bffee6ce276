#pragma once
// MPS v3 as NVIDIA documents it (release 615): a configuration file that the control daemon reads
// once, at its start, and commands as arguments, `module verb ...`, which change what runs. Pure.
//
// Limits are the namespaces', and there before any client: a namespace takes nothing from its
// server and is not held by what that has, so each has its own of everything.

#include <string>
#include <string_view>
#include <vector>

#include "mps/plan.h"

namespace tranche::mps {

// The arguments of one call of the program.
using Arguments = std::vector<std::string>;

// The daemon's configuration, in TOML: one server with the daemon's GPUs, for clients of every
// user.
std::string configuration(const Daemon& daemon);

// `config`: where configuration() stands. Users of any id are served by the one server (-m).
Arguments start_arguments(const std::string& config);
Arguments quit_arguments();

// How the server is: "Ready" once it serves; empty: it is not there any more, or never was (a GPU
// that the node does not have ends it), and clients would run without MPS.
Arguments servers_question();
std::string status_of(std::string_view answer);
inline constexpr std::string_view kReady = "Ready";

// From one daemon's namespaces to another's, for clients that begin from then on. A namespace that
// goes is left to the clients that it has; who gets it is nobody new.
std::vector<Arguments> change_arguments(const Daemon& before, const Daemon& daemon);

}  // namespace tranche::mps
