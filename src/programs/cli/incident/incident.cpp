#include "cli/incident/incident.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/exit_code.h"
#include "cli/incident/read.h"
#include "cli/incident/show.h"
#include "cli/shell/command_end.h"
#include "config/flags/command_line.h"
#include "config/programs/incident_options.h"

namespace tranche::cli {
namespace {

using config::IncidentOptions;

int end_incident(const Error& error) {
  fmt::print(stderr, "tranche incident: {}\n", error.message());
  return exit_code_of(error);
}

IncidentFolders folders_of(const IncidentOptions& options) {
  return {options.state_dir, options.arbiter_state_dir};
}

int list_incidents(const IncidentOptions& options) {
  const auto stored = read_incidents(folders_of(options));
  if (!stored) return end_incident(stored.error());
  fmt::print("{}", show_incidents(stored->all, options.output));
  for (const auto& why : stored->unreadable) fmt::print(stderr, "tranche incident: {}\n", why);
  return stored->unreadable.empty() ? kExitFine : kExitFinding;
}

int show_one_incident(const IncidentOptions& options) {
  const auto incident = options.file.empty() ? read_incident(folders_of(options), options.id)
                                             : read_incident_file(options.file);
  if (!incident) return end_incident(incident.error());
  fmt::print("{}", show_incident(*incident, options.output));
  return kExitFine;
}

}  // namespace

int run_incident_command(const Invocation& invocation) {
  const auto parsed = config::parse_words(invocation.arguments, invocation.command.uses);
  if (!parsed) return refuse(invocation, parsed.error().message());
  const auto& words = parsed->positionals;
  const auto* word = words.empty() ? nullptr : find_word(invocation.command, words[0]);
  if (const auto answered = answer_help(invocation, *parsed, word)) return *answered;
  if (word == nullptr) return refuse_word(invocation, words.empty() ? "" : words[0]);
  const bool is_show = word->name == "show";
  if (words.size() > (is_show ? 2U : 1U)) {
    return refuse(invocation, fmt::format("unexpected argument '{}'", words.back().substr(0, 80)),
                  word);
  }
  const config::Sources sources{.flags = parsed->flags, .environment = invocation.environment};
  const auto options = config::load_incident_options(
      sources, is_show ? IncidentOptions::Verb::kShow : IncidentOptions::Verb::kList,
      words.size() == 2 ? words[1] : "");
  if (!options) return refuse(invocation, options.error().message(), word);
  return is_show ? show_one_incident(*options) : list_incidents(*options);
}

}  // namespace tranche::cli
