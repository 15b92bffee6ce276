#include "cli/shell/flags_to_sources.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/exit_code.h"
#include "base/log.h"
#include "cli/shell/help.h"
#include "config/flags/command_line.h"
#include "config/flags/working_folder.h"

namespace tranche::cli {
namespace {

// NVIDIA's programs accept and ignore what follows the flags, and existing manifests rely on it:
// "--pass-device-specs true" leaves "true".
void warn_of(const std::vector<std::string>& positionals) {
  Log().warn(fmt::format(
      "ignored, as NVIDIA's programs do, with every flag among them: {}; write a flag's "
      "value after '=' (--pass-device-specs=true)",
      fmt::join(positionals, " ")));
}

// Without a working folder (it was removed) relative paths stay, and are refused.
config::Sources from_working_folder(config::Sources sources, unsigned uses) {
  std::error_code none;
  const auto folder = std::filesystem::current_path(none);
  return none ? sources : config::from_folder(std::move(sources), uses, folder);
}

}  // namespace

std::variant<config::Sources, int> flags_to_sources(const Invocation& invocation,
                                                    config::Program program, const Word* word) {
  const auto uses = uses_of(invocation.command, word);
  const auto parsed = config::parse_arguments(invocation.arguments, uses);
  if (!parsed) return refuse(invocation, parsed.error().message(), word);
  if (const auto answered = answer_help(invocation, *parsed, word)) return *answered;
  if (!parsed->positionals.empty()) {
    const auto& first = parsed->positionals[0];
    if (!invocation.command.nvidias_exit_codes) {
      return refuse(invocation, fmt::format("unexpected argument '{}'", first), word);
    }
    if (first == "help" || first == "h") {
      fmt::print("{}", help_of(invocation.command, word, invocation.program));
      return kExitFine;
    }
    warn_of(parsed->positionals);
  }
  config::Sources sources;
  sources.program = program;
  sources.drop_in = invocation.command.is_part;
  sources.flags = parsed->flags;
  sources.environment = invocation.environment;
  return from_working_folder(std::move(sources), uses);
}

}  // namespace tranche::cli
