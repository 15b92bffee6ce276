#pragma once
// The parts of the agent: inputs that look at the node, stages that make an offer, and followers
// that act on it, each made by its room. A new part is a folder of its own and a line in the list
// of followers.cpp.

#include <memory>
#include <vector>

#include "agent/context/parts.h"

namespace tranche::agent {

class Followers {
 public:
  // Restores the grants before anything is registered. `more`: run after the agent's own parts.
  explicit Followers(AgentContext context, Parts more = {});
  ~Followers();

  const std::vector<std::unique_ptr<Input>>& inputs() const { return parts_.inputs; }
  // They run after offer::make_offer, in order.
  const std::vector<Stage>& stages() const { return parts_.stages; }
  const std::vector<std::unique_ptr<Follower>>& all() const { return parts_.followers; }

 private:
  AgentContext context_;
  std::unique_ptr<GrantStore> grants_;
  std::unique_ptr<TenantManager> tenants_;
  std::unique_ptr<ClaimService> claims_;
  Parts parts_;  // last: they use the services
};

}  // namespace tranche::agent
