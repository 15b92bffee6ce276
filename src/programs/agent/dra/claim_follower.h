#pragma once
// The DRA driver as inputs and followers of the agent.

#include <functional>
#include <utility>

#include "agent/dra/claim_service.h"
#include "agent/loop/follower.h"
#include "agent/loop/stage.h"

namespace tranche::agent {

class ClaimInput final : public Input {
 public:
  explicit ClaimInput(ClaimService& claims) : claims_(claims) {}
  void look(const offer::Offer& wished, State& state) override {
    state.set(claims_.standing(state, wished));
  }

 private:
  ClaimService& claims_;
};

class ClaimFollower final : public Follower {
 public:
  explicit ClaimFollower(ClaimService& claims) : claims_(claims) {}

  Result<void> follow(const Round& round) override {
    claims_.follow(round);
    return {};
  }
  Phase phase() const override { return Phase::kHandOut; }
  void tick(TimePoint now) override { claims_.tick(now); }
  std::optional<TimePoint> next_tick() const override { return claims_.next_tick(); }
  std::string remark() const override { return claims_.remark(); }
  Result<void> predecessor_ended() override {
    claims_.look_at_store();
    return {};
  }
  void rest() override { claims_.rest(); }
  void leave() override { claims_.leave(); }
  void finish() override { claims_.leave(); }

 private:
  ClaimService& claims_;
};

}  // namespace tranche::agent
