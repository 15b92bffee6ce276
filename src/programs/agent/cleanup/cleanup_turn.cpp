#include "agent/cleanup/cleanup_turn.h"

namespace tranche::agent {
namespace {

// The other release that has the node; empty: none, or no release is named here.
Result<std::string> other_release(const NodeClaim& claim) {
  if (claim.release().empty()) return std::string();
  ASSIGN_OR_RETURN(const auto owner, claim.owner());
  return !owner || *owner == claim.release() ? std::string() : "release " + *owner;
}

// Who else serves the node. This release's agent claims the node before it serves, so an agent on
// an unclaimed node is not of this release.
Result<std::string> other_server(const NodeClaim& claim) {
  ASSIGN_OR_RETURN(auto other, other_release(claim));
  if (!other.empty() || claim.release().empty()) return other;
  ASSIGN_OR_RETURN(const auto owner, claim.owner());
  return !owner && claim.is_held() ? std::string("an agent that names no release") : std::string();
}

}  // namespace

Result<CleanupTurn> take_cleanup_turn(
    const NodeClaim& claim, const std::function<bool(const std::filesystem::path&)>& waiting) {
  auto server = other_server(claim);
  if (!server) return std::unexpected(server.error());
  if (!server->empty()) return CleanupTurn{.lock = nullptr, .server = *std::move(server)};
  ASSIGN_OR_RETURN(auto lock, lock_node(claim, [&](const std::filesystem::path& file) {
                     server = other_server(claim);
                     return server && server->empty() && waiting(file);
                   }));
  // The previous holder of the lock may have claimed the node.
  if (lock) server = other_release(claim);
  if (!server) return std::unexpected(server.error());
  if (!server->empty()) lock.reset();
  return CleanupTurn{.lock = std::move(lock), .server = *std::move(server)};
}

}  // namespace tranche::agent
