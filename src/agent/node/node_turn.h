#pragma once
// How an agent waits until it serves its node. Before that it writes nothing: neither to the node's
// folders nor to the Node, which are another agent's. What it waits for is in its log and in the
// answer to probes and, where another release serves the node, an Event of the Node.

#include <functional>
#include <memory>

#include "agent/node/agent_status.h"
#include "agent/node/node_claim.h"
#include "agent/node/node_reporter.h"
#include "base/clock.h"
#include "base/log.h"

namespace tranche::agent {

struct NodeTurn {
  bool came = false;  // false: the wait was told to stop
  // Null: the state folder cannot be used. The agent serves all the same.
  std::unique_ptr<process::ProcessLock> lock;
};

struct TurnOptions {
  NodeClaim claim;
  bool take_over = false;
  std::function<bool()> wait;                   // waits a while; false: stop
  std::function<void(const NodeNotice&)> tell;  // records an Event; empty: nowhere
};

NodeTurn await_turn(const TurnOptions& options, AgentStatus& status, const Clock& clock,
                    const Log& log);

}  // namespace tranche::agent
