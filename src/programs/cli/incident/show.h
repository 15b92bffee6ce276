#pragma once
// Incidents for people, and as documents. Pure.

#include <string>
#include <vector>

#include "config/programs/output_form.h"
#include "incidents/incident.h"

namespace tranche::cli {

// One line each, the newest first; or incident-list/v1.
std::string show_incidents(const std::vector<incidents::Incident>& all, config::OutputForm form);
// What happened, who held what, and the last minute of each holder; or incident/v1, as in its file.
std::string show_incident(const incidents::Incident& incident, config::OutputForm form);

// One letter for each second of `seconds`, the oldest first: '.' for 0, then as high as `values`
// has it of `most`; ' ': not recorded.
std::string graph(const std::vector<incidents::Second>& seconds,
                  std::uint64_t incidents::Second::* value, std::uint64_t most);

}  // namespace tranche::cli
