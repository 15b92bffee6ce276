#pragma once
// A folder of incidents, <id>.json each (incidents/incident_json.h). Bounded: the oldest go first,
// of those who have most, so nobody who causes incidents without end pushes out those of others.
//
// Not thread-safe, and one writer at a time.

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/fs.h"
#include "base/result.h"
#include "incidents/incident.h"

namespace tranche::incidents {

class IncidentFiles {
 public:
  static constexpr std::size_t kMost = 64;
  static constexpr std::size_t kMostBytes = std::size_t{8} << 20U;
  // Of one tenant, or of the XIDs of one device.
  static constexpr std::size_t kMostOfOne = 8;

  explicit IncidentFiles(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // The ids of what is stored, oldest first; empty if there is no folder. kIo.
  Result<std::vector<std::string>> ids() const;
  bool has(const std::string& id) const;
  // kNotFound; kInvalidArgument: torn, edited, or not ours.
  Result<Incident> read(const std::string& id) const;
  // Stores it under its id, or a new one if that is empty, and then removes what is too much. Makes
  // the folder if there is none. kIo: nothing was stored or removed (a full disk).
  Result<void> put(Incident& incident);

  const std::filesystem::path& folder() const { return folder_; }

 private:
  struct Entry {
    std::string owner;  // who has it: a tenant, or "xid DEVICE"; empty: it cannot be read
    std::size_t bytes = 0;
  };

  std::filesystem::path path_of(const std::string& id) const;
  void load();
  void trim(const std::string& newest);

  std::filesystem::path folder_;
  FsRoot fs_;
  bool is_loaded_ = false;
  std::map<std::string, Entry> entries_;  // by id, so by age
};

}  // namespace tranche::incidents
