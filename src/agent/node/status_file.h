#pragma once
// The state of an agent, in a file of its state folder, for `tranche agent --check` in a probe.
// <state dir>/agent.<host name>.status holds "ready <text>" or "waiting <text>". The beats of the
// agent's loop renew it, so its age tells whether the loop lives. There is one file per host name,
// because two Pods share the folder during a rolling update.

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
  std::string text;  // what the agent does or waits for
  bool operator==(const Status&) const = default;
};

class StatusFile {
 public:
  StatusFile(const std::filesystem::path& state_dir, const std::string& host, const Clock& clock);
  ~StatusFile();
  StatusFile(const StatusFile&) = delete;
  StatusFile& operator=(const StatusFile&) = delete;

  // A beat: writes when `status` changed, or when the last write is a few seconds old. If the
  // folder cannot be written the agent goes on; then no probe can read its state.
  void beat(const Status& status);

 private:
  std::filesystem::path file_;
  const Clock& clock_;
  FsRoot fs_;
  Status last_;
  std::optional<std::chrono::steady_clock::time_point> written_;
};

// The status that the agent of `host` wrote. kUnavailable: none runs, or its last beat is older
// than `longest`.
Result<Status> read_status(const std::filesystem::path& state_dir, const std::string& host,
                           std::chrono::seconds longest, const Clock& clock);

}  // namespace tranche::agent
