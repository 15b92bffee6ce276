#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "base/edit_distance.h"
#include "cli/command.h"

namespace tranche::cli {
namespace {

constexpr std::array kCommands = {
    Command{"agent", "advertise this node's GPUs to kubelet", run_agent_command},
    Command{"arbiter", "hold this node's containers to their limits", run_arbiter_command},
    Command{"controller", "make the cluster's ClusterPolicy take effect", run_controller_command},
    Command{"cleanup", "remove what an agent left on this node", run_cleanup_command},
    Command{"limit", "set the limits of a container that runs", run_limit_command},
    Command{"labels", "write this node's feature labels", run_labels_command},
    Command{"mps-control-daemon", "supervise this node's MPS control daemons",
            run_mps_control_command},
    Command{"reference", "write the generated pages of docs/reference", run_reference_command,
            false},
};

// Programs of NVIDIA's whose part the binary takes when called by their names, so that an existing
// manifest needs only another image.
constexpr std::array kParts = {
    Command{"nvidia-device-plugin", "", run_agent_command},
    Command{"gpu-feature-discovery", "", run_labels_command},
    Command{"config-manager", "", run_config_manager_command},
    Command{"mps-control-daemon", "", run_mps_control_command},
};

std::string help() {
  std::string text =
      "tranche cuts GPUs into tranches that stock Kubernetes schedules.\n\n"
      "Usage: tranche COMMAND [FLAGS]\n\nCommands:\n";
  for (const auto& command : kCommands) {
    if (command.listed) text += fmt::format("  {:<18} {}\n", command.name, command.summary);
  }
  text += "  version            print the version\n\n";
  text += "'tranche COMMAND --help' tells a command's flags. Called as nvidia-device-plugin,\n";
  text +=
      "gpu-feature-discovery, config-manager or mps-control-daemon it takes that program's part,\n";
  text += "with its flags.\n";
  return text;
}

int unknown_command(std::string_view name) {
  std::vector<std::string_view> names = {"version", "help"};
  for (const auto& command : kCommands) names.push_back(command.name);
  const auto near = nearest(name, names);
  fmt::print(stderr, "tranche: unknown command '{}'{}; run 'tranche help' for the list\n", name,
             near ? fmt::format(", did you mean '{}'?", *near) : std::string());
  return 2;
}

const Command* find(std::span<const Command> among, std::string_view name) {
  const auto found = std::ranges::find(among, name, &Command::name);
  return found == among.end() ? nullptr : &*found;
}

}  // namespace

std::span<const Command> commands() { return kCommands; }

std::string version_line() { return fmt::format("tranche {}", TRANCHE_VERSION); }

int dispatch(std::span<const std::string_view> argv,
             std::map<std::string, std::string> environment) {
  const auto called =
      argv.empty() ? std::string() : std::filesystem::path(argv[0]).filename().string();
  if (const auto* part = find(kParts, called)) {
    return part->run({part->name, argv.subspan(1), std::move(environment)});
  }
  if (argv.size() < 2 || argv[1] == "help" || argv[1] == "--help" || argv[1] == "-h") {
    fmt::print(argv.size() < 2 ? stderr : stdout, "{}", help());
    return argv.size() < 2 ? 2 : 0;
  }
  if (argv[1] == "version" || argv[1] == "--version" || argv[1] == "-v") {
    fmt::print("{}\n", version_line());
    return 0;
  }
  const auto* command = find(kCommands, argv[1]);
  if (command == nullptr) return unknown_command(argv[1]);
  const auto program = fmt::format("tranche {}", command->name);
  return command->run({program, argv.subspan(2), std::move(environment)});
}

}  // namespace tranche::cli
