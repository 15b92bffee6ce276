#include "agent/limits/tenant_follower.h"

#include <utility>

namespace tranche::agent {
namespace {

constexpr std::chrono::milliseconds kSettingsInterval{500};
constexpr std::chrono::seconds kLongestSetting{5};

}  // namespace

TenantFollower::TenantFollower(Parts parts) : parts_(std::move(parts)) {
  if (parts_.overrides == nullptr) parts_.tenants.settle({});
}

Result<void> TenantFollower::follow(const Round& round) {
  parts_.tenants.follow(*round.offer);
  return {};
}

Result<void> TenantFollower::predecessor_ended() {
  auto taken = parts_.grants.own();
  if (!taken) {
    return std::unexpected(
        std::move(taken).error().with_context("grants are not pruned until a restart"));
  }
  parts_.book.restore(*taken);
  return {};
}

void TenantFollower::rest() {
  pruner_.reset();
  setter_.reset();
  parts_.grants.share();
}

// Runs after the first offer, because settings are checked against it.
void TenantFollower::start_threads() {
  if (pruner_) return;
  pruner_.emplace(parts_.interval, [this] { prune(); });
  if (parts_.overrides == nullptr) return;
  setter_.emplace(kSettingsInterval, [this] {
    parts_.overrides->look(parts_.holders, parts_.tenants, {.deadline = kLongestSetting});
  });
}

void TenantFollower::prune() {
  const auto stored = parts_.tenants.save_grants();
  if (parts_.tell_stored) parts_.tell_stored(stored);
  // Two rounds' answers are further apart than this.
  const auto answer = parts_.holders.get(parts_.interval / 10);
  if (!answer) return parts_.tenants.unanswered();
  std::optional<Result<std::set<std::string>>> living;  // looked at once
  const Holders holders{.listed = (*answer)->listed,
                        .remembered = (*answer)->remembered,
                        .living =
                            [&] {
                              if (!living) living = parts_.living.names();
                              return *living;
                            },
                        // Two successive rounds are further apart.
                        .agree = parts_.interval * 2 / 3};
  if (parts_.tenants.prune(holders)) parts_.renew_checkpoint();
}

}  // namespace tranche::agent
