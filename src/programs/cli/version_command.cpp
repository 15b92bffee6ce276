#include <fmt/format.h>

#include <cstdio>

#include "base/exit_code.h"
#include "base/json_value.h"
#include "cli/runs.h"
#include "cli/shell/command.h"
#include "cli/shell/flags_to_sources.h"
#include "cli/shell/output.h"
#include "config/programs/output_form.h"

namespace tranche::cli {

int run_version_command(const Invocation& invocation) {
  const auto sources = flags_to_sources(invocation, config::Program::kAgent);
  if (const auto* done = std::get_if<int>(&sources)) return *done;
  const auto form =
      config::load_output_form(std::get<config::Sources>(sources), invocation.command.uses);
  if (!form) return refuse(invocation, form.error().message());
  if (*form == config::OutputForm::kTable) {
    fmt::print("{}\n", version_line());
    return kExitFine;
  }
  const json::Value document = {{"version", "version/v1"}, {"tranche", version()}};
  fmt::print("{}", written(document, *form));
  return kExitFine;
}

}  // namespace tranche::cli
