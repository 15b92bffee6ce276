#pragma once
// How an agent is, in a file of its state folder, for `tranche agent --check` in a probe:
// <state dir>/agent.<host name>.status, "ready <text>" or "waiting <text>", written anew at every
// beat of the agent's loop, so that its age tells whether the loop lives. One file per host name:
// during a rolling update two Pods share the folder.

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/fs.h"
#include "base/result.h"

namespace tranche::agent {

struct Status {
  bool ready = false;
  std::string text;  // what it does, or waits for
  bool operator==(const Status&) const = default;
};

class StatusFile {
 public:
  StatusFile(const std::filesystem::path& state_dir, const std::string& host, const Clock& clock);
  ~StatusFile();
  StatusFile(const StatusFile&) = delete;
  StatusFile& operator=(const StatusFile&) = delete;

  // A beat: writes when something changed, or when the last writing is a few seconds old. A folder
  // that cannot be written is no trouble of the agent's: then nobody can ask.
  void beat(const Status& status);

 private:
  std::filesystem::path file_;
  const Clock& clock_;
  FsRoot fs_;
  Status last_;
  std::optional<std::chrono::steady_clock::time_point> written_;
};

// What the agent of `host` says of itself. kUnavailable: none runs, or its last beat is older than
// `longest`.
Result<Status> read_status(const std::filesystem::path& state_dir, const std::string& host,
                           std::chrono::seconds longest, const Clock& clock);

}  // namespace tranche::agent
