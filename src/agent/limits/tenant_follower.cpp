#include "agent/limits/tenant_follower.h"

namespace tranche::agent {
namespace {

constexpr std::chrono::seconds kPruneInterval{60};
constexpr std::chrono::milliseconds kSettingsInterval{500};
constexpr std::chrono::seconds kLongestSetting{5};

}  // namespace

TenantFollower::TenantFollower(TenantManager& tenants, cluster::PodResources& pod_resources,
                               LimitOverrides* overrides)
    : tenants_(tenants), pod_resources_(pod_resources), overrides_(overrides) {
  if (overrides_ == nullptr) tenants_.settle({});
}

Result<void> TenantFollower::follow(const Round& round) {
  tenants_.follow(*round.offer);
  return {};
}

// Runs after the first offer, because a setting is checked against what the offer promises.
void TenantFollower::start_threads() {
  if (pruner_) return;
  pruner_.emplace(kPruneInterval, [this] {
    if (const auto held = pod_resources_.list()) tenants_.prune(*held);
  });
  if (overrides_ == nullptr) return;
  setter_.emplace(kSettingsInterval, [this] {
    overrides_->look(pod_resources_, tenants_, {.deadline = kLongestSetting});
  });
}

}  // namespace tranche::agent
