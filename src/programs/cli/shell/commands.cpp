#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "cli/shell/command.h"
#include "config/flags/flag_table.h"

namespace tranche::cli {
namespace {

constexpr std::array kGroups = {
    GroupTitle{Group::kProcesses, "Processes of a node and a cluster"},
    GroupTitle{Group::kLook, "Look"},
    GroupTitle{Group::kChange, "Change"},
    GroupTitle{Group::kTools, "Tools"},
};

constexpr std::array kExitCodes = {
    ExitCodeText{"0", "fine"},
    ExitCodeText{"1", "a finding: it was refused, failed, or something is not as it should be"},
    ExitCodeText{"2", "usage: a word, flag or setting is wrong; nothing was done or asked"},
    ExitCodeText{"3", "who was to be asked cannot be reached: API server, GPU, driver, machine"},
};

constexpr std::array kLayoutWords = {
    Word{"list", "show the models with MIG, or what one of them can be cut into",
         config::kUseLayoutList},
    Word{"validate", "say whether a GPU can have these instances, and where they go",
         config::kUseLayoutValidate, "PROFILE=NUMBER..."},
    Word{"pack", "put instances on as few GPUs as can be", config::kUseLayoutPack,
         "PROFILE=NUMBER..."},
    Word{"show", "show what this machine's GPUs, or a node's, are cut into",
         config::kUseLayoutShow},
    Word{"assert", "say whether this machine's GPUs have a layout of a file",
         config::kUseLayoutAssert},
    Word{"apply", "give this machine's GPUs, or a node's, a layout", config::kUseLayoutApply},
    Word{"export", "print what this machine's GPUs have as a file", config::kUseLayoutExport},
    Word{"defaults", "print the layouts that there are without a file", config::kUseLayoutDefaults},
};
constexpr std::array kIncidentWords = {
    Word{"list", "show the incidents that this node keeps", config::kUseIncidentList},
    Word{"show", "show one incident: who asked what, who held what, the minute before",
         config::kUseIncidentShow, "[ID]"},
};
constexpr std::array kLimitWords = {
    Word{"set", "change the limits of a container that runs", config::kUseLimitSet, "POD"},
    Word{"get", "show the limits of a Pod's containers", config::kUseLimitGet, "POD"},
    Word{"reset", "go back to what the configuration says", config::kUseLimitReset, "POD"},
    Word{"list", "show all that is set in the cluster", config::kUseLimitList},
    Word{"prune", "remove what is set for Pods that are gone", config::kUseLimitPrune},
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
            .group = Group::kProcesses,
            .uses = config::kUseAgent,
            .nvidias_exit_codes = true},
    Command{.name = "arbiter",
            .summary = "hold this node's containers to their limits",
            .group = Group::kProcesses,
            .uses = config::kUseArbiter},
    Command{.name = "mps-control-daemon",
            .summary = "supervise this node's MPS control daemons",
            .group = Group::kProcesses,
            .uses = config::kUseMpsControl,
            .words = kMpsControlWords,
            .usage = "[mount-shm|check]"},
    Command{.name = "labels",
            .summary = "write this node's feature labels",
            .group = Group::kProcesses,
            .uses = config::kUseLabels},
    Command{.name = "controller",
            .summary = "make the cluster's ClusterPolicy take effect",
            .group = Group::kProcesses,
            .uses = config::kUseController},
    Command{.name = "layout",
            .summary = "plan what MIG cuts GPUs into",
            .group = Group::kLook,
            .uses = config::kUseLayout,
            .words = kLayoutWords,
            .usage = "list | validate|pack PROFILE=NUMBER... | show | assert | apply | export | "
                     "defaults"},
    Command{.name = "incident",
            .summary = "show why GPU memory was refused, a program stalled, a GPU failed",
            .group = Group::kLook,
            .uses = config::kUseIncident,
            .words = kIncidentWords,
            .usage = "list | show ID"},
    Command{.name = "lint",
            .summary = "say what is wrong in manifests, and print them corrected",
            .group = Group::kLook,
            .uses = config::kUseLint,
            .usage = "FILE...",
            .takes_files = true},
    Command{.name = "doctor",
            .summary = "say what is wrong on a node, and what to do",
            .group = Group::kLook,
            .uses = config::kUseDoctor,
            .usage = "--node"},
    Command{.name = "snapshot",
            .summary = "keep what a cluster has in a file, for other commands to read",
            .group = Group::kLook,
            .uses = config::kUseSnapshot},
    Command{.name = "top",
            .summary = "show live who uses what of the GPUs",
            .group = Group::kLook,
            .uses = config::kUseTop},
    Command{.name = "report",
            .summary = "say how much of each kind there is, who waits, and who is near the limit",
            .group = Group::kLook,
            .uses = config::kUseReport},
    Command{.name = "limit",
            .summary = "set the limits of a container that runs",
            .group = Group::kChange,
            .uses = config::kUseLimit,
            .words = kLimitWords,
            .usage = "set|get|reset POD | list | prune"},
    Command{.name = "cleanup",
            .summary = "remove what an agent left on this node",
            .group = Group::kChange,
            .uses = config::kUseCleanup},
    Command{.name = "completion",
            .summary = "print the completion script of a shell",
            .words = kShells,
            .usage = "bash|zsh|fish"},
    Command{.name = "version", .summary = "print the version", .uses = config::kUseVersion},
    Command{.name = "reference",
            .summary = "write the generated pages of docs/reference",
            .listed = false},
};

constexpr std::array kParts = {
    Command{.name = "nvidia-device-plugin",
            .summary = "advertise this node's GPUs to kubelet",
            .uses = config::kUseAgent,
            .nvidias_exit_codes = true,
            .is_part = true},
    Command{.name = "gpu-feature-discovery",
            .summary = "write this node's feature labels",
            .uses = config::kUseFeatureDiscovery,
            .nvidias_exit_codes = true,
            .is_part = true},
    Command{.name = "config-manager",
            .summary = "choose this node's configuration by its label",
            .uses = config::kUseConfigManager,
            .nvidias_exit_codes = true,
            .is_part = true},
    Command{.name = "mps-control-daemon",
            .summary = "supervise this node's MPS control daemons",
            .uses = config::kUseMpsControl,
            .words = kMpsControlWords,
            .usage = "[mount-shm|check]",
            .nvidias_exit_codes = true,
            .is_part = true},
};

}  // namespace

std::span<const GroupTitle> groups() { return kGroups; }

std::span<const ExitCodeText> exit_codes() { return kExitCodes; }

std::span<const Command> commands() { return kCommands; }

std::span<const Command> parts() { return kParts; }

const Command* find_command(std::span<const Command> among, std::string_view name) {
  const auto found = std::ranges::find(among, name, &Command::name);
  return found == among.end() ? nullptr : &*found;
}

const Word* find_word(const Command& command, std::string_view name) {
  const auto found = std::ranges::find(command.words, name, &Word::name);
  return found == command.words.end() ? nullptr : &*found;
}

unsigned uses_of(const Command& command, const Word* word) {
  return word == nullptr || word->uses == 0 ? command.uses : word->uses;
}

bool has_man_page(const Command& command) {
  return command.listed && (command.uses != 0 || !command.words.empty());
}

std::string_view version() { return TRANCHE_VERSION; }

std::string version_line() { return fmt::format("tranche {}", version()); }

}  // namespace tranche::cli
