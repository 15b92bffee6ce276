#include "agent/limits/limit_stage.h"

#include <algorithm>

#include "fmt/format.h"
#include "limit/wire.h"

namespace tranche::agent {

void LimitInput::look(const offer::Offer& wished, State& state) { state.set(prepare(wished)); }

LimitStanding LimitInput::prepare(const offer::Offer& wished) const {
  const auto limited = [](const offer::ResourceOffer& resource) {
    return resource.limits.has_value();
  };
  const auto count = std::ranges::count_if(wished.resources, limited);
  if (count == 0) return {};
  LimitStanding standing;
  // Kubelet does not say in Allocate which container a grant is for.
  if (count > std::ptrdiff_t{limit::wire::kMaxTenants}) {
    standing.trouble =
        Error{Code::kInvalidArgument,
              fmt::format("its limits cannot be kept: {} resources have limits, and a container "
                          "that asks for each of them can be held to {} at most",
                          count, limit::wire::kMaxTenants),
              "set enforcement: off for some, or give devices of several names one name"}
            .message();
    return standing;
  }
  auto mounts = tenants_ != nullptr ? tenants_->prepare()
                                    : fail(Code::kFailedPrecondition, "there is no state folder",
                                           "mount a writable folder at --state-dir");
  if (!mounts) {
    standing.trouble =
        std::move(mounts).error().with_context("its limits cannot be kept").message();
    return standing;
  }
  standing.mounts = *std::move(mounts);
  if (std::ranges::none_of(wished.resources, offer::has_runtime_hook)) return standing;
  if (auto hook = tenants_->prepare_hook(); !hook) {
    standing.hook_trouble =
        std::move(hook).error().with_context("the runtime's hook cannot be given").message();
  }
  return standing;
}

std::string LimitInput::trouble(const State& state) const {
  const auto& standing = state.get<LimitStanding>();
  if (standing.trouble.empty() && standing.hook_trouble.empty()) return {};
  return "limits cannot be kept here, see the log";
}

offer::Offer offer_what_can_be_limited(const State& state, offer::Offer offer) {
  const auto& standing = state.get<LimitStanding>();
  if (!standing.trouble.empty()) offer::withhold_limited(offer, standing.trouble);
  if (!standing.hook_trouble.empty()) offer::withhold_hooked(offer, standing.hook_trouble);
  return offer;
}

}  // namespace tranche::agent
