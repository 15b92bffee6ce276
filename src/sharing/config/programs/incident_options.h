#pragma once
// The settings of `tranche incident list|show`, from words and flags. Pure.

#include <string>

#include "base/result.h"
#include "config/programs/output_form.h"

namespace tranche::config {

struct IncidentOptions {
  enum class Verb { kList, kShow };

  Verb verb = Verb::kList;
  std::string id;    // kShow; its first letters are enough
  std::string file;  // kShow: instead of an id; "-": standard input; "": none
  std::string state_dir = "/var/lib/tranche";              // the agent's
  std::string arbiter_state_dir = "/run/tranche-arbiter";  // the arbiter's
  OutputForm output = OutputForm::kTable;
  bool operator==(const IncidentOptions&) const = default;
};

// `id`: "" if there is none. kInvalidArgument with every error, one per line.
Result<IncidentOptions> load_incident_options(const Sources& sources, IncidentOptions::Verb verb,
                                              const std::string& id);

}  // namespace tranche::config
