// tranche layout: see docs/mig.md.

#include "cli/layout/layout.h"

#include <fmt/format.h>

#include <array>
#include <cstdio>

#include "cli/layout/words.h"
#include "cli/shell/command.h"
#include "cli/shell/command_end.h"
#include "cli/shell/flags_to_sources.h"
#include "config/flags/command_line.h"

namespace tranche::cli {
namespace {

struct LayoutWord {
  std::string_view name;
  int (*run)(const LayoutCall&);
};
constexpr std::array kRuns = {
    LayoutWord{"list", run_layout_list},     LayoutWord{"validate", run_layout_validate},
    LayoutWord{"pack", run_layout_pack},     LayoutWord{"show", run_layout_show},
    LayoutWord{"assert", run_layout_assert}, LayoutWord{"apply", run_layout_apply},
    LayoutWord{"export", run_layout_export}, LayoutWord{"defaults", run_layout_defaults},
};

// The first word among the arguments; its flags are used.
const Word* word_in(const Invocation& invocation) {
  for (const auto one : invocation.arguments) {
    if (const auto* word = find_word(invocation.command, one)) return word;
  }
  return nullptr;
}

}  // namespace

int refuse(const LayoutCall& call, std::string_view what) {
  return refuse(call.invocation, what, &call.word);
}

int end(const LayoutCall& call, const Error& error) {
  std::fflush(stdout);  // if both go to one file, successes come before failures
  fmt::print(stderr, "{} {}: {}\n", call.invocation.program, call.word.name, error.message());
  return exit_code_of(error);
}

int run_layout_command(const Invocation& invocation) {
  const auto* word = word_in(invocation);
  const auto uses = uses_of(invocation.command, word);
  const auto parsed = config::parse_words(invocation.arguments, uses);
  if (!parsed) return refuse(invocation, parsed.error().message(), word);
  if (const auto answered = answer_help(invocation, *parsed, word)) return *answered;
  const auto& words = parsed->positionals;
  if (word == nullptr || words.empty() || words[0] != word->name) {
    return refuse_word(invocation, words.empty() ? "" : words[0]);
  }
  const LayoutCall call{.invocation = invocation,
                        .word = *word,
                        .arguments = {words.begin() + 1, words.end()},
                        .sources = {.flags = parsed->flags, .environment = invocation.environment}};
  for (const auto& one : kRuns) {
    if (one.name == word->name) return one.run(call);
  }
  return refuse_word(invocation, word->name);
}

}  // namespace tranche::cli
