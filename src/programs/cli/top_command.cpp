// tranche top: see docs/top.md. The view is a program of its own, tranche-top, so that agents do
// not carry it; this checks the command line and becomes that program.

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "base/exit_code.h"
#include "base/result.h"
#include "cli/runs.h"
#include "cli/shell/command.h"
#include "cli/shell/command_end.h"
#include "config/flags/command_line.h"
#include "config/programs/top_options.h"

namespace tranche::cli {
namespace {

// Beside this program, whatever link it was called by.
std::filesystem::path sibling(const char* name) {
  std::error_code trouble;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", trouble);
  return self.parent_path() / name;
}

// Returns the exit code if it could not be started.
int become(const std::filesystem::path& program, std::span<const std::string_view> arguments) {
  std::vector<std::string> texts{"tranche-top"};
  texts.insert(texts.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (auto& text : texts) argv.push_back(text.data());
  argv.push_back(nullptr);
  std::fflush(stdout);
  ::execv(program.c_str(), argv.data());
  const int trouble = errno;
  auto error = errno_error(trouble, "start " + program.string());
  if (trouble == ENOENT) {
    error.hint = "the view is a program of its own, which stands beside tranche: install it there";
  }
  fmt::print(stderr, "tranche top: {}\n", error.message());
  return kExitFinding;
}

}  // namespace

int run_top_command(const Invocation& invocation) {
  const auto parsed = config::parse_words(invocation.arguments, invocation.command.uses);
  if (!parsed) return refuse(invocation, parsed.error().message());
  if (const auto answered = answer_help(invocation, *parsed, nullptr)) return *answered;
  if (!parsed->positionals.empty()) {
    return refuse(invocation,
                  fmt::format("unexpected argument '{}'", parsed->positionals[0].substr(0, 80)));
  }
  const auto options =
      config::load_top_options({.flags = parsed->flags, .environment = invocation.environment});
  if (!options) return refuse(invocation, options.error().message());
  return become(sibling("tranche-top"), invocation.arguments);
}

}  // namespace tranche::cli
