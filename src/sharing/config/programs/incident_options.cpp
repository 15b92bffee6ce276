#include "config/programs/incident_options.h"

#include "config/programs/option_reader.h"

namespace tranche::config {

Result<IncidentOptions> load_incident_options(const Sources& sources, IncidentOptions::Verb verb,
                                              const std::string& id) {
  using Verb = IncidentOptions::Verb;
  const unsigned use = verb == Verb::kList ? kUseIncidentList : kUseIncidentShow;
  OptionReader reader(sources, use);
  for (const auto& flag : sources.flags) {
    if (flag.name != "file" || verb == Verb::kShow) continue;
    reader.error(Error{Code::kInvalidArgument, "--file: 'tranche incident list' does not know it",
                       "'tranche incident show' takes it"});
    return reader.result(IncidentOptions{});
  }
  IncidentOptions options{.verb = verb,
                          .id = id,
                          .file = verb == Verb::kShow ? reader.get<std::string>("file") : "",
                          .state_dir = reader.get<std::string>("state-dir"),
                          .arbiter_state_dir = reader.get<std::string>("arbiter-state-dir"),
                          .output = read_output_form(reader)};
  if (verb == Verb::kShow && options.id.empty() == options.file.empty()) {
    reader.error(Error{Code::kInvalidArgument, "name one incident, or a file with --file",
                       "tranche incident list shows the names"});
  }
  return reader.result(std::move(options));
}

}  // namespace tranche::config
