#pragma once
// Offers a resource with limits only where containers can be limited. Otherwise a container would
// silently get a whole GPU.

#include "agent/limits/limit_standing.h"
#include "agent/limits/tenant_manager.h"
#include "agent/loop/stage.h"

namespace tranche::agent {

class LimitInput final : public Input {
 public:
  // `tenants` outlives it; null: there is no state folder.
  explicit LimitInput(TenantManager* tenants) : tenants_(tenants) {}

  void look(const offer::Offer& wished, State& state) override;
  std::string trouble(const State& state) const override;

 private:
  LimitStanding prepare(const offer::Offer& wished) const;

  TenantManager* tenants_;
};

offer::Offer offer_what_can_be_limited(const State& state, offer::Offer offer);

}  // namespace tranche::agent
