#include "cli/flags_to_sources.h"

#include <fmt/format.h>

#include <cstdio>

#include "config/flags/command_line.h"

namespace tranche::cli {
namespace {

// NVIDIA's programs exit with 1 for an unknown flag, and users' probes may depend on it.
constexpr int kUsageError = 1;

int refuse(const Invocation& invocation, std::string_view what) {
  fmt::print(stderr, "{}: {}\nRun '{} --help' for the flags.\n", invocation.program, what,
             invocation.program);
  return kUsageError;
}

}  // namespace

std::variant<config::Sources, int> flags_to_sources(const Invocation& invocation, unsigned uses,
                                                    config::Program program) {
  const auto parsed = config::parse_arguments(invocation.arguments, uses);
  if (!parsed) return refuse(invocation, parsed.error().message());
  if (parsed->help) {
    fmt::print("{}", config::help_text(invocation.program, uses));
    return 0;
  }
  if (parsed->version) {
    fmt::print("{}\n", version_line());
    return 0;
  }
  if (!parsed->positionals.empty()) {
    return refuse(invocation, fmt::format("unexpected argument '{}'", parsed->positionals[0]));
  }
  config::Sources sources;
  sources.program = program;
  sources.flags = parsed->flags;
  sources.environment = invocation.environment;
  return sources;
}

}  // namespace tranche::cli
