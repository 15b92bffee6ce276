#pragma once
// The state of an agent, for `tranche agent --check` in a probe: "ready <turns> <text>" or "waiting
// <turns> <text>", asked of the process itself (process/status_socket.h). The beats of the agent's
// loop renew it, so its age tells whether the loop lives. No disk is needed for it: an agent whose
// state folder is full or cannot be written is alive.

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
  // How often its loop has turned: a loop that does not sleep shows in it.
  std::uint64_t turns = 0;
  bool operator==(const Status&) const = default;
};

class AgentStatus {
 public:
  // One agent has one state folder, by which probes find it. The references outlive it.
  AgentStatus(const std::filesystem::path& state_dir, const Clock& clock, const Log& log);

  // A beat. If nobody can ask for it, that is said once, and the agent goes on.
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
