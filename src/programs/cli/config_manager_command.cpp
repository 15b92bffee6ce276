#include "agent/compat/config_manager.h"
#include "cli/runs.h"
#include "cli/shell/command.h"
#include "cli/shell/flags_to_sources.h"

namespace tranche::cli {

int run_config_manager_command(const Invocation& invocation) {
  const auto sources = flags_to_sources(invocation, config::Program::kAgent);
  if (const auto* done = std::get_if<int>(&sources)) return *done;
  return agent::run_config_manager(std::get<config::Sources>(sources));
}

}  // namespace tranche::cli
