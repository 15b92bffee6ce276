// tranche layout: see docs/mig.md.

#include <fmt/format.h>

#include <array>
#include <cstdio>

#include "base/edit_distance.h"
#include "base/exit_code.h"
#include "cli/command.h"
#include "cli/flags_to_sources.h"
#include "cli/help.h"
#include "cli/layout.h"
#include "config/flags/command_line.h"

namespace tranche::cli {
namespace {

struct LayoutWord {
  std::string_view name;
  int (*run)(const LayoutCall&);
};
constexpr std::array kLayoutRuns = {
    LayoutWord{"list", run_layout_list},     LayoutWord{"validate", run_layout_validate},
    LayoutWord{"pack", run_layout_pack},     LayoutWord{"show", run_layout_show},
    LayoutWord{"assert", run_layout_assert}, LayoutWord{"apply", run_layout_apply},
    LayoutWord{"export", run_layout_export}, LayoutWord{"defaults", run_layout_defaults},
};

int refuse_word(const Invocation& invocation, std::string_view word) {
  std::vector<std::string_view> names;
  for (const auto& one : invocation.command.words) names.push_back(one.name);
  if (word.empty()) return refuse(invocation, "say what to do: " + either(names));
  return refuse(invocation, fmt::format("unknown command \"{}\"{}", word.substr(0, 80),
                                        suggestion(word, names, "write " + either(names))));
}

// The first word that stands among the arguments, whose flags are then known.
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
  fmt::print(stderr, "{} {}: {}\n", call.invocation.program, call.word.name, error.message());
  switch (error.code) {
    case Code::kInvalidArgument:
      return kExitUsage;
    case Code::kUnavailable:
    case Code::kTimeout:
      return kExitUnreachable;
    default:
      return kExitFinding;
  }
}

int run_layout_command(const Invocation& invocation) {
  const auto* word = word_in(invocation);
  const auto uses = uses_of(invocation.command, word);
  const auto parsed = config::parse_words(invocation.arguments, uses);
  if (!parsed) return refuse(invocation, parsed.error().message(), word);
  if (parsed->help) {
    fmt::print("{}", help_of(invocation.command, word, invocation.program));
    return kExitFine;
  }
  if (parsed->version) {
    fmt::print("{}\n", version_line());
    return kExitFine;
  }
  const auto& words = parsed->positionals;
  if (word == nullptr || words.empty() || words[0] != word->name) {
    return refuse_word(invocation, words.empty() ? "" : words[0]);
  }
  const LayoutCall call{.invocation = invocation,
                        .word = *word,
                        .arguments = {words.begin() + 1, words.end()},
                        .sources = {.flags = parsed->flags, .environment = invocation.environment}};
  for (const auto& one : kLayoutRuns) {
    if (one.name == word->name) return one.run(call);
  }
  return refuse_word(invocation, word->name);
}

}  // namespace tranche::cli
