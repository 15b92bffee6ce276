#pragma once
// How an agent takes over from another of its release, and hands over to the next
// (docs/decisions/0022-handing-over.md). Used by the agent's loop.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/context/context.h"
#include "agent/node/node_turn.h"
#include "base/log.h"
#include "process/handover.h"
#include "process/loop.h"

namespace tranche::agent {

class Succession {
 public:
  // `turn`: the node lock, and the predecessor's handover; null: neither. `release`: who may take
  // over.
  Succession(NodeTurn* turn, std::string release, const Log& log);

  // The predecessor's handover; null: none.
  Inherited* inherited() { return inherited_ ? &*inherited_ : nullptr; }
  // Calls `ended`, by `loop`, when the predecessor has ended. Its error is logged.
  Result<void> follow_predecessor(process::Loop& loop, std::function<Result<void>()> ended);

  // From now on the next agent of this release can connect while it waits for the lock.
  void listen(process::Loop& loop);
  bool has_successor();
  // Hands over `held` and the lock. True: the next agent serves.
  bool hand_over(std::vector<process::NamedDescriptor> held);

 private:
  NodeTurn* turn_;
  std::string release_;
  const Log& log_;
  std::optional<Inherited> inherited_;
  // Next to each lock; empty: nobody can take over.
  std::vector<std::unique_ptr<process::Handover>> handovers_;
};

}  // namespace tranche::agent
