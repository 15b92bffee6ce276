#include "agent/mps_control.h"
#include "cli/command.h"
#include "cli/flags_to_sources.h"
#include "config/flag_table.h"

namespace tranche::cli {

int run_mps_control_command(const Invocation& invocation) {
  // NVIDIA's spelling: the subcommand stands first.
  std::string_view word;
  auto flags = invocation;
  if (!flags.arguments.empty() && !flags.arguments.front().starts_with('-')) {
    word = flags.arguments.front();
  }
  const bool known = word == "mount-shm" || word == "check";
  if (known) flags.arguments = flags.arguments.subspan(1);
  const auto sources = flags_to_sources(flags, config::kUseMpsControl, config::Program::kAgent);
  if (const auto* done = std::get_if<int>(&sources)) return *done;
  const auto& given = std::get<config::Sources>(sources);
  if (word == "mount-shm") return agent::mount_mps_shm(given);
  if (word == "check") return agent::check_mps_control(given);
  return agent::run_mps_control(given);
}

}  // namespace tranche::cli
