// tranche limit set|get|reset POD, tranche limit list|prune: see docs/limits.md.

#include "cli/limit/limit.h"

#include <fmt/format.h>

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "base/exit_code.h"
#include "cli/limit/overview.h"
#include "cli/limit/show.h"
#include "cli/limit/work.h"
#include "cli/shell/cluster_source.h"
#include "cli/shell/command.h"
#include "cli/shell/command_end.h"
#include "cli/shell/flags_to_sources.h"
#include "config/flags/command_line.h"
#include "config/programs/limit_options.h"

namespace tranche::cli {
namespace {

using config::LimitOptions;
using Verb = LimitOptions::Verb;

Verb verb_of(const Word& word) {
  if (word.name == "set") return Verb::kSet;
  if (word.name == "get") return Verb::kGet;
  if (word.name == "reset") return Verb::kReset;
  return word.name == "list" ? Verb::kList : Verb::kPrune;
}

int end(const Error& error) {
  fmt::print(stderr, "tranche limit: {}\n", error.message());
  return exit_code_of(error);
}

int not_connected(const Error& error) {
  fmt::print(stderr, "tranche limit: {}\n", error.message());
  return exit_code_of_connecting(error);
}

template <class Report>
int end(const Result<Report>& report, const LimitOptions& options) {
  if (!report) return end(report.error());
  fmt::print("{}", show(*report, options));
  if (report->finding.empty()) return kExitFine;
  fmt::print(stderr, "tranche limit: {}\n", report->finding);
  return kExitFinding;
}

int run(LimitOptions options, const config::Sources& sources) {
  const Log log(LogLevel::kWarn);
  const auto source = open_cluster({.snapshot = options.snapshot,
                                    .api_server = options.api_server,
                                    .user_agent = "tranche-limit"},
                                   sources, log);
  if (!source) return not_connected(source.error());
  if (options.ns.empty() && options.verb != Verb::kList) {
    options.ns = source->ns.empty() ? "default" : source->ns;
  }
  switch (options.verb) {
    case Verb::kList:
      return end(list_limits(*source->objects, options.ns), options);
    case Verb::kPrune:
      return end(prune_limits(*source->objects), options);
    default:
      return end(run_limit(*source->objects, options), options);
  }
}

}  // namespace

int run_limit_command(const Invocation& invocation) {
  const auto parsed = config::parse_words(invocation.arguments, invocation.command.uses);
  if (!parsed) return refuse(invocation, parsed.error().message());
  const auto& words = parsed->positionals;
  const auto* word = words.empty() ? nullptr : find_word(invocation.command, words[0]);
  if (const auto answered = answer_help(invocation, *parsed, word)) return *answered;
  if (word == nullptr) return refuse_word(invocation, words.empty() ? "" : words[0]);
  const bool one_pod = !word->arguments.empty();
  if (one_pod && words.size() != 2) return refuse(invocation, "name one Pod", word);
  if (!one_pod && words.size() != 1) {
    return refuse(invocation, fmt::format("unexpected argument '{}'", words[1]), word);
  }
  const config::Sources sources{.flags = parsed->flags, .environment = invocation.environment};
  const auto options = config::load_limit_options(sources, verb_of(*word), one_pod ? words[1] : "");
  if (!options) return refuse(invocation, options.error().message(), word);
  return run(*options, sources);
}

}  // namespace tranche::cli
