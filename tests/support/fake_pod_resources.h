#pragma once
// A kubelet that lists the holders a test sets. Its checkpoint is as old as the last
// write_checkpoint(); without one it is what is held. Thread-safe.

#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "cluster/pod_resources.h"

namespace tranche::test {

class FakePodResources final : public cluster::PodResources {
 public:
  using Held = std::vector<cluster::HeldDevices>;

  Result<cluster::ListedHolders> list() override {
    const std::scoped_lock lock(mutex_);
    ++asked_;
    if (away_) return fail(Code::kUnavailable, "no such socket");
    return cluster::ListedHolders{.devices = held_, .claims = claims_};
  }
  Result<Held> remembered() override {
    const std::scoped_lock lock(mutex_);
    return checkpoint_.value_or(held_);
  }
  Result<cluster::AllocatableDevices> allocatable() override {
    return fail(Code::kFailedPrecondition, "this kubelet does not tell");
  }

  void hold(Held held) {
    const std::scoped_lock lock(mutex_);
    held_ = std::move(held);
  }
  void hold_claims(std::vector<cluster::HeldClaim> claims) {
    const std::scoped_lock lock(mutex_);
    claims_ = std::move(claims);
  }
  void write_checkpoint() {
    const std::scoped_lock lock(mutex_);
    checkpoint_ = held_;
  }
  // Whether it does not answer.
  void go_away(bool away) {
    const std::scoped_lock lock(mutex_);
    away_ = away;
  }
  // How often list() was called.
  int asked() const {
    const std::scoped_lock lock(mutex_);
    return asked_;
  }

 private:
  mutable std::mutex mutex_;
  Held held_;
  std::vector<cluster::HeldClaim> claims_;
  std::optional<Held> checkpoint_;
  bool away_ = false;
  int asked_ = 0;
};

}  // namespace tranche::test
