#include <fmt/format.h>

#include <algorithm>

#include "agent/mps/mps_control.h"
#include "cli/command.h"
#include "cli/flags_to_sources.h"
#include "config/flags/flag_table.h"

namespace tranche::cli {
namespace {

std::span<const Word> mps_words() { return find_command(commands(), "mps-control-daemon")->words; }

std::string words_help() {
  std::string text = "\nBefore the flags:\n";
  for (const auto& word : mps_words()) {
    text += fmt::format("  {:<9}  {}\n", word.name, word.summary);
  }
  return text;
}

bool asks_for_help(std::span<const std::string_view> arguments) {
  return std::ranges::any_of(arguments, [](std::string_view argument) {
    return argument == "--help" || argument == "-h";
  });
}

}  // namespace

int run_mps_control_command(const Invocation& invocation) {
  // As in NVIDIA's program, the subcommand comes first.
  std::string_view word;
  auto flags = invocation;
  if (!flags.arguments.empty() && !flags.arguments.front().starts_with('-')) {
    word = flags.arguments.front();
  }
  const bool known = std::ranges::find(mps_words(), word, &Word::name) != mps_words().end();
  if (known) flags.arguments = flags.arguments.subspan(1);
  const auto sources = flags_to_sources(flags, config::kUseMpsControl, config::Program::kAgent);
  if (const auto* done = std::get_if<int>(&sources)) {
    if (*done == 0 && asks_for_help(flags.arguments)) fmt::print("{}", words_help());
    return *done;
  }
  const auto& given = std::get<config::Sources>(sources);
  if (word == "mount-shm") return agent::mount_mps_shm(given);
  if (word == "check") return agent::check_mps_control(given);
  return agent::run_mps_control(given);
}

}  // namespace tranche::cli
