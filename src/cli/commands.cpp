#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "cli/command.h"
#include "config/flags/flag_table.h"

namespace tranche::cli {
namespace {

constexpr std::array kGroups = {
    GroupTitle{Group::kProcesses, "Processes of a node and a cluster"},
    GroupTitle{Group::kLook, "Look"},
    GroupTitle{Group::kChange, "Change"},
    GroupTitle{Group::kTools, "Tools"},
};

constexpr std::array kLimitWords = {
    Word{"set", "change the limits of a container that runs"},
    Word{"get", "show the limits of a Pod's containers"},
    Word{"reset", "go back to what the configuration says"},
    Word{"list", "show all that is set in the cluster"},
    Word{"prune", "remove what is set for Pods that are gone"},
};
constexpr std::array kMpsControlWords = {
    Word{"mount-shm", "mount a tmpfs for the containers' /dev/shm at shm in --mps-dir, and end"},
    Word{"check", "for a probe: end with 0 while every daemon that is wanted serves"},
};
constexpr std::array kShells = {
    Word{"bash", "print the script for bash"},
    Word{"zsh", "print the script for zsh"},
    Word{"fish", "print the script for fish"},
};

constexpr std::array kCommands = {
    Command{.name = "agent",
            .summary = "advertise this node's GPUs to kubelet",
            .run = run_agent_command,
            .group = Group::kProcesses,
            .uses = config::kUseAgent},
    Command{.name = "arbiter",
            .summary = "hold this node's containers to their limits",
            .run = run_arbiter_command,
            .group = Group::kProcesses,
            .uses = config::kUseArbiter},
    Command{.name = "mps-control-daemon",
            .summary = "supervise this node's MPS control daemons",
            .run = run_mps_control_command,
            .group = Group::kProcesses,
            .uses = config::kUseMpsControl,
            .words = kMpsControlWords,
            .usage = "[mount-shm|check]"},
    Command{.name = "labels",
            .summary = "write this node's feature labels",
            .run = run_labels_command,
            .group = Group::kProcesses,
            .uses = config::kUseFeatureDiscovery},
    Command{.name = "controller",
            .summary = "make the cluster's ClusterPolicy take effect",
            .run = run_controller_command,
            .group = Group::kProcesses,
            .uses = config::kUseController},
    Command{.name = "limit",
            .summary = "set the limits of a container that runs",
            .run = run_limit_command,
            .group = Group::kChange,
            .uses = config::kUseLimit,
            .words = kLimitWords,
            .usage = "set|get|reset POD | list | prune"},
    Command{.name = "cleanup",
            .summary = "remove what an agent left on this node",
            .run = run_cleanup_command,
            .group = Group::kChange,
            .uses = config::kUseCleanup},
    Command{.name = "completion",
            .summary = "print the completion script of a shell",
            .run = run_completion_command,
            .words = kShells,
            .usage = "bash|zsh|fish"},
    Command{.name = "version", .summary = "print the version", .run = run_version_command},
    Command{.name = "reference",
            .summary = "write the generated pages of docs/reference",
            .run = run_reference_command,
            .listed = false},
};

constexpr std::array kParts = {
    Command{"nvidia-device-plugin", "", run_agent_command},
    Command{"gpu-feature-discovery", "", run_labels_command},
    Command{"config-manager", "", run_config_manager_command},
    Command{"mps-control-daemon", "", run_mps_control_command},
};

}  // namespace

std::span<const GroupTitle> groups() { return kGroups; }

std::span<const Command> commands() { return kCommands; }

std::span<const Command> parts() { return kParts; }

const Command* find_command(std::span<const Command> among, std::string_view name) {
  const auto found = std::ranges::find(among, name, &Command::name);
  return found == among.end() ? nullptr : &*found;
}

bool has_man_page(const Command& command) {
  return command.listed && (command.uses != 0 || !command.words.empty());
}

std::string version_line() { return fmt::format("tranche {}", TRANCHE_VERSION); }

int run_version_command(const Invocation& /*invocation*/) {
  fmt::print("{}\n", version_line());
  return 0;
}

}  // namespace tranche::cli
