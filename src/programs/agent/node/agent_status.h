#pragma once
// The state of an agent, for `tranche agent --check` in a probe: "ready <turns> <text>" or "waiting
// <turns> <text>", asked from the process itself (process/status_socket.h). The loop's beats renew
// it, so its age shows whether the loop lives. Needs no disk: an agent with a full or read-only
// state folder is alive.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "base/said_once.h"
#include "process/status_socket.h"

namespace tranche::agent {

struct Status {
  bool ready = false;
  std::string text;  // what the agent does or waits for
  // Number of the loop's turns: shows a loop that does not sleep.
  std::uint64_t turns = 0;
  bool operator==(const Status&) const = default;
};

class AgentStatus {
 public:
  // Probes find the agent by its state folder.
  AgentStatus(const std::filesystem::path& state_dir, const Clock& clock, const Log& log);

  // A beat. If nobody can ask for it, that is logged once, and the agent continues.
  void beat(const Status& status);

 private:
  process::StatusSocket socket_;
  const Log& log_;
  SaidOnce said_;
};

// The status of the agent with this state folder. kUnavailable: none runs, or its last beat is
// older than `longest`.
Result<Status> read_status(const std::filesystem::path& state_dir, std::chrono::seconds longest);

}  // namespace tranche::agent
