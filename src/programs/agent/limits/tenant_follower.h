#pragma once
// Updates running containers to what is promised now, and removes tenants that nobody holds any
// more. Has two threads: one drops grants that are over and retries those that could not be
// written, one follows the limits set by the operator and by Pods' owners.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "agent/holdings/book.h"
#include "agent/holdings/holder_answers.h"
#include "agent/limits/limit_overrides.h"
#include "agent/limits/living_tenants.h"
#include "agent/limits/tenant_manager.h"
#include "agent/loop/follower.h"
#include "process/periodic.h"

namespace tranche::agent {

class TenantFollower final : public Follower {
 public:
  struct Parts {
    TenantManager& tenants;
    GrantStore& grants;
    Book& book;
    HolderAnswers& holders;
    std::chrono::milliseconds interval;  // between two rounds in which grants are dropped
    LivingTenants living;
    std::unique_ptr<LimitOverrides> overrides;  // null: limits are never overridden
    // Has kubelet write its checkpoint again. From any thread.
    std::function<void()> renew_checkpoint;
    // Receives repeatedly, on its own thread, whether grants are stored. May be empty.
    std::function<void(const Result<void>&)> tell_stored;
  };
  explicit TenantFollower(Parts parts);

  Result<void> follow(const Round& round) override;
  // Starts the threads after the first round, so that their calls to kubelet do not delay the
  // registration.
  void tick(TimePoint) override { start_threads(); }
  // From then on the book has the grants that it stored meanwhile.
  Result<void> predecessor_ended() override;
  void rest() override;

 private:
  void start_threads();
  void prune();

  Parts parts_;
  std::optional<process::Periodic> pruner_;
  std::optional<process::Periodic> setter_;
};

}  // namespace tranche::agent
