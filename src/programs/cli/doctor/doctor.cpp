// tranche doctor: see docs/doctor.md.

#include "cli/doctor/doctor.h"

#include <fmt/format.h>

#include <cstdlib>

#include "base/exit_code.h"
#include "cli/doctor/read_node.h"
#include "cli/doctor/report.h"
#include "cli/shell/command_end.h"
#include "cli/shell/flags_to_sources.h"
#include "cli/shell/output.h"

namespace tranche::cli {
namespace {

// Nothing that makes this a node of Tranche's answers.
bool is_elsewhere(const explain::NodeFacts& facts) {
  return facts.driver.error && facts.agent.error && facts.device_plugins.error &&
         facts.pod_resources.error;
}

}  // namespace

int run_doctor_command(const Invocation& invocation) {
  // gRPC would print lines of its own.
  ::setenv("GRPC_VERBOSITY", "NONE", 0);
  const auto read = flags_to_sources(invocation, config::Program::kAgent);
  if (const auto* code = std::get_if<int>(&read)) return *code;
  const auto& sources = std::get<config::Sources>(read);
  const auto options = config::load_doctor_options(sources);
  if (!options) return refuse(invocation, options.error().message());
  const auto facts = read_node(*options, sources);
  const auto findings = explain::examine(facts);
  fmt::print("{}", options->output == config::OutputForm::kTable
                       ? doctor_text(findings)
                       : written(doctor_document(findings), options->output));
  if (is_elsewhere(facts)) {
    fmt::print(
        stderr,
        "tranche doctor: neither a driver, nor an agent, nor kubelet answers here; run it in "
        "an agent's container: kubectl exec\n");
    return kExitUnreachable;
  }
  return findings.empty() ? kExitFine : kExitFinding;
}

}  // namespace tranche::cli
