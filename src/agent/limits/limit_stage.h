#pragma once
// What has limits is only offered where containers can be limited: never a silent whole GPU.

#include "agent/limits/tenant_manager.h"
#include "agent/loop/stage.h"

namespace tranche::agent {

// Puts into place what limited containers need on this node.
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

// Withholds what the node cannot keep.
offer::Offer offer_what_can_be_limited(const State& state, offer::Offer offer);

}  // namespace tranche::agent
