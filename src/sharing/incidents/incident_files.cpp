#include "incidents/incident_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "incidents/incident_json.h"

namespace tranche::incidents {
namespace {

constexpr std::string_view kExtension = ".json";

std::string owner_of(const Incident& incident) {
  return incident.tenant.empty() ? "xid " + incident.device : incident.tenant;
}

}  // namespace

std::filesystem::path IncidentFiles::path_of(const std::string& id) const {
  return folder_ / (id + std::string(kExtension));
}

Result<std::vector<std::string>> IncidentFiles::ids() const {
  auto names = fs_.list(folder_);
  if (!names) {
    if (names.error().code == Code::kNotFound) return std::vector<std::string>();
    return std::unexpected(std::move(names).error());
  }
  std::vector<std::string> ids;
  for (std::string_view name : *names) {
    if (!name.ends_with(kExtension)) continue;
    name.remove_suffix(kExtension.size());
    if (is_id(name)) ids.emplace_back(name);
  }
  return ids;
}

bool IncidentFiles::has(const std::string& id) const { return fs_.exists(path_of(id)); }

Result<Incident> IncidentFiles::read(const std::string& id) const {
  if (!is_id(id)) {
    return fail(Code::kInvalidArgument,
                fmt::format("'{}' is no name of an incident", id.substr(0, 80)),
                "tranche incident list shows the names");
  }
  ASSIGN_OR_RETURN(const auto text, fs_.read(path_of(id), kLongestFile));
  auto incident = decode(text);
  if (incident) return incident;
  return std::unexpected(std::move(incident).error().with_context(path_of(id).string()));
}

Result<void> IncidentFiles::put(Incident& incident) {
  load();
  for (unsigned number = 0; incident.id.empty(); ++number) {
    auto id = make_id(incident.at, incident.cause, number);
    if (!entries_.contains(id)) incident.id = std::move(id);
  }
  const auto text = encode(incident) + "\n";
  TRY(fs_.make_directories(folder_));
  TRY(fs_.write_atomic(path_of(incident.id), text));
  entries_[incident.id] = {owner_of(incident), text.size()};
  trim(incident.id);
  return {};
}

void IncidentFiles::load() {
  if (std::exchange(is_loaded_, true)) return;
  for (const auto& id : ids().value_or(std::vector<std::string>())) {
    const auto incident = read(id);
    std::error_code ignored;
    const auto bytes = std::filesystem::file_size(path_of(id), ignored);
    entries_[id] = {incident ? owner_of(*incident) : "", ignored ? 0 : bytes};
  }
}

void IncidentFiles::trim(const std::string& newest) {
  const std::string owner = entries_.at(newest).owner;
  for (;;) {
    std::size_t bytes = 0;
    std::map<std::string, std::size_t> counts;
    std::size_t most = 0;
    for (const auto& [id, entry] : entries_) {
      bytes += entry.bytes;
      most = std::max(most, ++counts[entry.owner]);
    }
    const bool is_own = counts.at(owner) > kMostOfOne;
    if (!is_own && entries_.size() <= kMost && bytes <= kMostBytes) return;
    // The oldest of the writer beyond its own bound; else of those who have most.
    const auto oldest = std::ranges::find_if(entries_, [&](const auto& entry) {
      const auto& whose = entry.second.owner;
      return entry.first != newest && (is_own ? whose == owner : counts.at(whose) == most);
    });
    if (oldest == entries_.end()) return;
    (void)fs_.remove(path_of(oldest->first));  // a file that stays is found at the next start
    entries_.erase(oldest);
  }
}

}  // namespace tranche::incidents
