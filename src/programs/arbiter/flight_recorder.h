#pragma once
// Feeds the flight recorder (incidents/recorder.h) with what the arbiter knows, and stores what it
// finds in <state dir>/incidents, on the tmpfs. Answers the agent, which hears of XIDs
// (incidents/asks.h). A full disk is logged once; nothing else depends on it.
//
// Used by the arbiter's one thread.

#include <chrono>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/file_identity.h"
#include "base/fs.h"
#include "base/log.h"
#include "incidents/incident_files.h"
#include "incidents/recorder.h"

namespace tranche::arbiter {

class FlightRecorder {
 public:
  static constexpr incidents::Ns kEach = std::chrono::milliseconds(250);
  // How long an XID may be past when the agent asks. Beyond that the rings do not reach.
  static constexpr std::chrono::seconds kLongestPast{60};
  // Incidents that are kept while the disk is full; more are dropped.
  static constexpr std::size_t kMostUnstored = 16;

  struct Options {
    std::filesystem::path state_dir;  // the arbiter's own
    std::filesystem::path tenants;    // the agent's folder
    incidents::Ns stall_after{};      // 0: stalls are not looked for
  };
  // `clock` and `log` must outlive it.
  FlightRecorder(const Options& options, const Clock& clock, const Log& log);

  bool is_due() const;
  // Takes a sample, and stores what happened.
  void take(const incidents::NodeReading& node);
  // Answers what the agent has asked since the last call.
  void answer();

 private:
  incidents::Ns now() const;
  void answer(const std::string& text);
  void store();

  std::filesystem::path asked_file_;
  const Clock& clock_;
  const Log& log_;
  FsRoot fs_;
  incidents::Recorder recorder_;
  incidents::IncidentFiles files_;
  std::optional<incidents::Ns> taken_;
  FileIdentity asked_;                         // as last read
  std::set<std::string> answered_;             // ids that the file still has
  std::vector<incidents::Incident> unstored_;  // while the disk is full: the first ones
  bool told_full_ = false;
};

}  // namespace tranche::arbiter
