#include "cli/incident/read.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <utility>

#include "cli/shell/input_text.h"
#include "incidents/incident_files.h"
#include "incidents/incident_json.h"

namespace tranche::cli {
namespace {

using incidents::Incident;
using incidents::IncidentFiles;

struct Stores {
  IncidentFiles agents;
  IncidentFiles arbiters;
  std::map<std::string, const IncidentFiles*> by_id;
};

Result<void> add(const IncidentFiles& files, Stores& stores) {
  ASSIGN_OR_RETURN(const auto ids, files.ids());
  for (const auto& id : ids) stores.by_id.emplace(id, &files);
  return {};
}

Result<std::unique_ptr<Stores>> open(const IncidentFolders& folders) {
  std::error_code ignored;
  if (!std::filesystem::exists(folders.state_dir, ignored) &&
      !std::filesystem::exists(folders.arbiter_state_dir, ignored)) {
    return fail(
        Code::kUnavailable,
        fmt::format("neither {} nor {} is here: no agent or arbiter has run on this machine",
                    folders.state_dir, folders.arbiter_state_dir),
        "run it on the node, as root, or name --state-dir and --arbiter-state-dir");
  }
  const auto inside = [](const std::string& folder) {
    return std::filesystem::path(folder) / "incidents";
  };
  auto stores = std::make_unique<Stores>(Stores{IncidentFiles(inside(folders.state_dir)),
                                                IncidentFiles(inside(folders.arbiter_state_dir)),
                                                {}});
  TRY(add(stores->agents, *stores));  // first: they have the names of Pods
  TRY(add(stores->arbiters, *stores));
  return stores;
}

}  // namespace

Result<StoredIncidents> read_incidents(const IncidentFolders& folders) {
  ASSIGN_OR_RETURN(const auto stores, open(folders));
  StoredIncidents stored;
  for (const auto& [id, files] : stores->by_id) {
    auto incident = files->read(id);
    if (incident) {
      stored.all.push_back(*std::move(incident));
    } else if (incident.error().code != Code::kNotFound) {  // it was just removed
      stored.unreadable.push_back(incident.error().message());
    }
  }
  return stored;
}

Result<Incident> read_incident(const IncidentFolders& folders, const std::string& id) {
  ASSIGN_OR_RETURN(const auto stores, open(folders));
  auto found = stores->by_id.lower_bound(id);
  if (found == stores->by_id.end() || !found->first.starts_with(id)) {
    return fail(Code::kNotFound, fmt::format("there is no incident '{}'", id.substr(0, 80)),
                "tranche incident list shows those that there are");
  }
  const auto next = std::next(found);
  if (found->first != id && next != stores->by_id.end() && next->first.starts_with(id)) {
    return fail(Code::kInvalidArgument,
                fmt::format("several incidents begin with '{}'", id.substr(0, 80)),
                "write more of the name");
  }
  return found->second->read(found->first);
}

Result<Incident> read_incident_file(const std::string& file) {
  ASSIGN_OR_RETURN(const auto text, input_text(file, incidents::kLongestFile));
  auto incident = incidents::decode(text);
  if (incident) return incident;
  return std::unexpected(std::move(incident).error().with_context(file));
}

}  // namespace tranche::cli
