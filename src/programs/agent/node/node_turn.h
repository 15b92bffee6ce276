#pragma once
// How an agent waits until it serves its node. Before that it writes nothing: neither to the node's
// folders nor to the Node, which are another agent's. What it waits for is in its log and in the
// answer to probes and, where another release serves the node, an Event of the Node.
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

// The name of each lock among what the agent that serves hands over. Versions with one lock take
// the first: the state folder's.
inline constexpr std::string_view kHandedLock = "lock";

struct NodeTurn {
  bool came = false;  // false: the wait was told to stop
  // Null: there is no folder for it. The agent serves all the same.
  std::unique_ptr<NodeLock> lock;
  // The agent that hands over, until it has ended, and kubelet's connections to it. nullopt: nobody
  // hands over.
  process::Predecessor predecessor{};
  std::optional<std::vector<process::NamedDescriptor>> inherited{};
};

struct TurnOptions {
  NodeClaim claim;
  bool take_over = false;
  // Waits a while, or until that descriptor is readable (below 0: none); false: stop.
  std::function<bool(int readable)> wait;
  std::function<void(const NodeNotice&)> tell;  // records an Event; empty: nowhere
  // Whether this agent could serve at once; an error: why not. Until then the one that serves hands
  // nothing over to it. Empty: it could.
  std::function<Result<void>()> can_serve = {};
};

NodeTurn await_turn(const TurnOptions& options, AgentStatus& status, const Clock& clock,
                    const Log& log);

}  // namespace tranche::agent
