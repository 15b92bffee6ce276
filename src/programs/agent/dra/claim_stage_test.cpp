#include "agent/dra/claim_stage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/config/mode_standing.h"
#include "agent/dra/claim_standing.h"
#include "agent/withholding/held_standing.h"
#include "offer/make_offer.h"
#include "support/fake_clock.h"
#include "support/machines.h"

namespace tranche::agent::claim_stage_test {
namespace {

using cluster::NodeMode;
using testing::IsEmpty;

class ClaimStageTest : public testing::Test {
 protected:
  ClaimStageTest() { state_.machine = test::machine_of(2, test::l20); }
  offer::Offer offer() const { return offer::make_offer(*state_.machine, state_.config, {}); }
  std::string uuid(std::size_t gpu) const { return state_.machine->gpus[gpu].uuid.value; }
  // What kubelet gets for the first resource: id -> whether it can be given out.
  std::map<std::string, bool> told() const {
    const auto made = offer_by_mode(state_, offer());
    std::map<std::string, bool> ids;
    for (const auto& tranche : made.resources.at(0).tranches) ids[tranche.id] = !tranche.withheld;
    return ids;
  }

  State state_;
};

TEST_F(ClaimStageTest, InModeDevicePluginAllIsOfferedThatNoClaimHolds) {
  EXPECT_EQ(told(), (std::map<std::string, bool>{{uuid(0), true}, {uuid(1), true}}));
  state_.edit<ClaimStanding>().held = {
      {{.device = uuid(1), .gpu = uuid(1), .wire = holdings::Wire::kClaim, .claim = "half"}}};
  EXPECT_EQ(told(), (std::map<std::string, bool>{{uuid(0), true}, {uuid(1), false}}));
}

TEST_F(ClaimStageTest, WhileItIsNotKnownWhatClaimsHoldNothingIsGivenOut) {
  state_.edit<ClaimStanding>().held.reset();
  EXPECT_EQ(told(), (std::map<std::string, bool>{{uuid(0), false}, {uuid(1), false}}));
}

TEST_F(ClaimStageTest, AnInstanceThatAClaimHoldsTakesItsGpuAndNotTheOthers) {
  state_.config.flags.mig_strategy = config::MigStrategy::kMixed;
  auto& gpu = state_.machine->gpus[1];
  const holdings::Holding held{
      .device = "MIG-a", .gpu = gpu.uuid.value, .wire = holdings::Wire::kClaim, .claim = "half"};
  state_.edit<ClaimStanding>().held = {{held}};
  EXPECT_EQ(told(), (std::map<std::string, bool>{{uuid(0), true}, {uuid(1), false}}));
  // Without a UUID it may be any device of the GPU.
  state_.edit<ClaimStanding>().held->at(0).device.clear();
  EXPECT_EQ(told(), (std::map<std::string, bool>{{uuid(0), true}, {uuid(1), false}}));
}

// Kubelet keeps a container's devices only while they are listed.
TEST_F(ClaimStageTest, InModeDraOnlyWhatContainersHoldIsListedAndNothingGivenOut) {
  state_.edit<NodeModeStanding>().mode = NodeMode::kDra;
  EXPECT_THAT(told(), IsEmpty());
  state_.edit<HeldStanding>().at_odds = {{.resource = {"nvidia.com/gpu"}, .id = uuid(0)},
                                         {.resource = {"nvidia.com/other"}, .id = uuid(1)}};
  EXPECT_EQ(told(), (std::map<std::string, bool>{{uuid(0), false}}));
}

TEST_F(ClaimStageTest, BeforeTheModeIsKnownNothingIsGivenOut) {
  state_.edit<NodeModeStanding>().undecided = true;
  EXPECT_EQ(told(), (std::map<std::string, bool>{{uuid(0), false}, {uuid(1), false}}));
}

// A claim on the GPU, prepared before MPS shared it.
TEST(ClaimsAtOdds, InModeDraClaimsGoAlongWhereTheirGpuIsSharedAsTheyWerePrepared) {
  test::FakeClock clock;
  Book book(clock);
  offer::ClaimEnforcers enforcers;
  EXPECT_FALSE(claims_at_odds(book, true, enforcers)) << "it is not known yet which are prepared";
  dra::PreparedClaim claim{.ns = "team", .name = "half", .uid = "u", .boot = "b"};
  claim.devices = {{.request = "gpu", .pool = "p", .device = "gpu-0", .uuid = test::gpu_uuid(0)}};
  book.restore({{"u", claim}}, test::machine_of({test::l20(0)}));

  EXPECT_EQ(claims_at_odds(book, true, enforcers)->size(), 0U);
  EXPECT_EQ(claims_at_odds(book, false, enforcers)->size(), 1U);
  enforcers.gpus[test::gpu_uuid(0)].mps = "nvidia.com/gpu";
  EXPECT_EQ(claims_at_odds(book, true, enforcers)->size(), 1U);
}

}  // namespace
}  // namespace tranche::agent::claim_stage_test
