#pragma once
// Decides whether a cleanup has something to clear on its node, and waits for its own release's
// agent to end. A node that another release serves is left alone at once: the cleanup's own release
// has never served it, or what it left was taken over.

#include <functional>
#include <memory>
#include <string>

#include "agent/node/node_claim.h"
#include "base/result.h"

namespace tranche::agent {

struct CleanupTurn {
  // Held while the node is cleared; null: nothing to clear, or `waiting` gave up.
  std::unique_ptr<NodeLock> lock;
  std::string server;  // who serves the node instead: "release a/gpu"; empty: nobody
};

// A cleanup without a release clears a node of any claim, once its agent has ended. `waiting`:
// called with the file that the agent holds; waits a while; false: give up. Errors: the claim is
// unreadable; as lock_node().
Result<CleanupTurn> take_cleanup_turn(
    const NodeClaim& claim, const std::function<bool(const std::filesystem::path& file)>& waiting);

}  // namespace tranche::agent
