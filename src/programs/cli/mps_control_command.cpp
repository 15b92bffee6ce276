#include "agent/mps/run_mps_control.h"
#include "cli/runs.h"
#include "cli/shell/command.h"
#include "cli/shell/command_end.h"
#include "cli/shell/flags_to_sources.h"

namespace tranche::cli {
int run_mps_control_command(const Invocation& invocation) {
  // The subcommand comes first, as in NVIDIA's program.
  auto rest = invocation;
  const Word* word = nullptr;
  if (!rest.arguments.empty() && !rest.arguments.front().starts_with('-')) {
    word = find_word(invocation.command, rest.arguments.front());
    // NVIDIA's program ignores unknown words.
    if (word == nullptr && !invocation.command.is_part)
      return refuse_word(invocation, rest.arguments.front());
    if (word != nullptr) rest.arguments = rest.arguments.subspan(1);
  }
  const auto sources = flags_to_sources(rest, config::Program::kAgent, word);
  if (const auto* done = std::get_if<int>(&sources)) return *done;
  const auto& given = std::get<config::Sources>(sources);
  if (word == nullptr) return agent::run_mps_control(given);
  return word->name == "check" ? agent::check_mps_control(given) : agent::mount_mps_shm(given);
}

}  // namespace tranche::cli
