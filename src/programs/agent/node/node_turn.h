#pragma once
// How an agent waits for its turn to serve the node. Until then it writes nothing to the node's
// folders or the Node, which are another agent's. Its reason for waiting is in its log and in the
// answer to probes and, if another release serves the node, in an Event of the Node.
//
// While an agent of its own release serves, it is connected to that one, which hands the node over
// when it ends (decision 22). Then it is ready: a rolling update may end the other one.

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "agent/node/agent_status.h"
#include "agent/node/node_claim.h"
#include "agent/node/node_reporter.h"
#include "base/clock.h"
#include "base/log.h"
#include "process/handover.h"

namespace tranche::agent {

// The name of each lock in a handover. Versions with one lock take the first: the state folder's.
inline constexpr std::string_view kHandedLock = "lock";

struct NodeTurn {
  bool came = false;  // false: the wait was stopped
  // Null: there is no folder for it. The agent serves all the same.
  std::unique_ptr<NodeLock> lock;
  // The agent that hands over, until it has ended, and kubelet's connections to it. nullopt: none.
  process::Predecessor predecessor{};
  std::optional<std::vector<process::NamedDescriptor>> inherited{};
};

struct TurnOptions {
  NodeClaim claim;
  bool take_over = false;
  // Waits a while, or until the descriptor is readable (below 0: none); false: stop.
  std::function<bool(int readable)> wait;
  std::function<void(const NodeNotice&)> tell;  // records an Event; empty: nowhere
  // Whether this agent could serve at once; an error: why not. Until then nothing is handed over to
  // it. Empty: it could.
  std::function<Result<void>()> can_serve = {};
};

NodeTurn await_turn(const TurnOptions& options, AgentStatus& status, const Clock& clock,
                    const Log& log);

}  // namespace tranche::agent
