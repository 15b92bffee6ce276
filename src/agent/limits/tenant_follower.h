#pragma once
// Running containers as a follower: they get what is promised now, and what nobody holds any more
// is taken away. Two threads of its own: one drops grants that are over, one follows what the
// operator and the Pods' owners set.

#include <optional>

#include "agent/limits/limit_overrides.h"
#include "agent/limits/tenant_manager.h"
#include "agent/loop/follower.h"
#include "cluster/pod_resources.h"
#include "process/periodic.h"

namespace tranche::agent {

class TenantFollower final : public Follower {
 public:
  // The references outlive it. `overrides`: null: nothing is set by anybody.
  TenantFollower(TenantManager& tenants, cluster::PodResources& pod_resources,
                 LimitOverrides* overrides);

  Result<void> follow(const Round& round) override;
  // Its threads start behind the first round, not in it: what they ask kubelet is not to stand in
  // the way of the registration.
  void tick(TimePoint) override { start_threads(); }

 private:
  void start_threads();

  TenantManager& tenants_;
  cluster::PodResources& pod_resources_;
  LimitOverrides* overrides_;
  std::optional<process::Periodic> pruner_;
  std::optional<process::Periodic> setter_;
};

}  // namespace tranche::agent
