#pragma once
// The DRA driver among the agent's inputs and followers.

#include <functional>
#include <utility>

#include "agent/dra/claim_service.h"
#include "agent/loop/follower.h"
#include "agent/loop/stage.h"

namespace tranche::agent {

// Stands before WithholdingInput, which goes by the mode.
class ClaimInput final : public Input {
 public:
  explicit ClaimInput(ClaimService& claims) : claims_(claims) {}
  void look(const offer::Offer& wished, State& state) override {
    state.claims = claims_.standing(state, wished);
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
  bool hands_out() const override { return true; }
  void tick(TimePoint now) override { claims_.tick(now); }
  std::optional<TimePoint> next_tick() const override { return claims_.next_tick(); }
  std::string remark() const override { return claims_.remark(); }
  void rest() override { claims_.rest(); }
  void leave() override { claims_.leave(); }
  void finish() override { claims_.leave(); }

 private:
  ClaimService& claims_;
};

}  // namespace tranche::agent
