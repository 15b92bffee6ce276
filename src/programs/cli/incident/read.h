#pragma once
// The incidents that a node keeps: those that its agent has named, and those that only its arbiter
// has.

#include <string>
#include <vector>

#include "base/result.h"
#include "incidents/incident.h"

namespace tranche::cli {

struct IncidentFolders {
  std::string state_dir;          // the agent's
  std::string arbiter_state_dir;  // the arbiter's
};

struct StoredIncidents {
  std::vector<incidents::Incident> all;  // oldest first
  std::vector<std::string> unreadable;   // why, one text for each file
};

// kUnavailable: neither program has run here. kIo: a folder cannot be read.
Result<StoredIncidents> read_incidents(const IncidentFolders& folders);
// `id`: or as many of its first letters as are unique. kNotFound; kInvalidArgument: several begin
// so, or its file is torn or edited.
Result<incidents::Incident> read_incident(const IncidentFolders& folders, const std::string& id);
// From a file that somebody sent; "-": standard input. kInvalidArgument: torn, edited, too long, or
// no incident.
Result<incidents::Incident> read_incident_file(const std::string& file);

}  // namespace tranche::cli
