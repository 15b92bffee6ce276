#include "agent/limits/limit_stage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fmt/format.h"
#include "limit/wire.h"

namespace tranche::agent::limit_stage_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

offer::Offer limited_resources(unsigned count) {
  offer::Offer offer;
  for (unsigned i = 0; i < count; ++i) {
    offer.resources.emplace_back().name.value = fmt::format("nvidia.com/gpu{}", i);
    offer.resources.back().limits.emplace();
  }
  return offer;
}

// Allocate does not say which container a grant is for.
TEST(LimitStage, MoreLimitedResourcesThanAContainerCanBeHeldToAreNotOffered) {
  LimitInput input(nullptr);
  State state;
  input.look(limited_resources(limit::wire::kMaxTenants + 1), state);
  EXPECT_THAT(state.get<LimitStanding>().trouble, HasSubstr("17 resources have limits"));
  EXPECT_THAT(state.get<LimitStanding>().trouble, HasSubstr("16 at most"));
  auto wished = limited_resources(limit::wire::kMaxTenants + 1);
  wished.resources.emplace_back().name.value = "nvidia.com/whole";
  const auto offer = offer_what_can_be_limited(state, std::move(wished));
  EXPECT_THAT(offer.withheld, SizeIs(17));
  EXPECT_THAT(offer.resources, SizeIs(1));
}

TEST(LimitStage, AsManyAsAContainerCanBeHeldToFailForNoSuchReason) {
  LimitInput input(nullptr);
  State state;
  input.look(limited_resources(limit::wire::kMaxTenants), state);
  EXPECT_THAT(state.get<LimitStanding>().trouble, HasSubstr("there is no state folder"));
  input.look(limited_resources(0), state);
  EXPECT_THAT(state.get<LimitStanding>().trouble, IsEmpty());
}

}  // namespace
}  // namespace tranche::agent::limit_stage_test
