#include "cli/help.h"

#include <fmt/format.h>

namespace tranche::cli {

std::string command_help(std::span<const Command> commands) {
  std::string text =
      "tranche cuts GPUs into tranches that stock Kubernetes schedules.\n\n"
      "Usage: tranche COMMAND [FLAGS]\n";
  for (const auto& group : groups()) {
    std::string lines;
    for (const auto& command : commands) {
      if (!command.listed || command.group != group.group) continue;
      lines += fmt::format("  {:<18} {}\n", command.name, command.summary);
    }
    if (!lines.empty()) text += fmt::format("\n{}:\n{}", group.title, lines);
  }
  text +=
      "\n'tranche COMMAND --help' tells a command's flags. Called as nvidia-device-plugin,\n"
      "gpu-feature-discovery, config-manager or mps-control-daemon it takes that program's part,\n"
      "with its flags.\n";
  return text;
}

}  // namespace tranche::cli
