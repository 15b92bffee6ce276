#pragma once
// A follower for running containers: it gives them what is promised now, and removes tenants that
// nobody holds any more. It has two threads: one drops grants that are over and writes those that
// could not be written, one follows the limits that the operator and the Pods' owners set.

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
    // Has kubelet write its checkpoint again. Called from any thread.
    std::function<void()> renew_checkpoint;
    // Told again and again, from a thread of its own, whether grants are stored. May be empty.
    std::function<void(const Result<void>&)> tell_stored;
  };
  // The references outlive it.
  explicit TenantFollower(Parts parts);

  Result<void> follow(const Round& round) override;
  // Starts the threads after the first round and not in it, so that their calls to kubelet do not
  // delay the registration.
  void tick(TimePoint) override { start_threads(); }
  // Grants that it stored meanwhile are in the book from then on.
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
