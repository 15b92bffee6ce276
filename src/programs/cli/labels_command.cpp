#include "agent/compat/feature_discovery.h"
#include "cli/runs.h"
#include "cli/shell/command.h"
#include "cli/shell/flags_to_sources.h"

namespace tranche::cli {

int run_labels_command(const Invocation& invocation) {
  const auto sources = flags_to_sources(invocation, config::Program::kFeatureDiscovery);
  if (const auto* done = std::get_if<int>(&sources)) return *done;
  return agent::run_feature_discovery(std::get<config::Sources>(sources));
}

}  // namespace tranche::cli
