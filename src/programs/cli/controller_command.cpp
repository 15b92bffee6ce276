#include "cli/runs.h"
#include "cli/shell/command.h"
#include "cli/shell/flags_to_sources.h"
#include "controller/run.h"

namespace tranche::cli {

int run_controller_command(const Invocation& invocation) {
  const auto sources = flags_to_sources(invocation, config::Program::kAgent);
  if (const auto* done = std::get_if<int>(&sources)) return *done;
  return controller::run_controller(std::get<config::Sources>(sources));
}

}  // namespace tranche::cli
