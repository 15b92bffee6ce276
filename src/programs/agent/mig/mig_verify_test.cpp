#include "agent/mig/mig_verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/hardware/leaving.h"
#include "agent/mig/testing.h"
#include "agent/mps/mps_standing.h"

namespace tranche::agent::mig_verify_test {
namespace {

using mig_testing::MigNode;
using testing::HasSubstr;

// A GPU in the journal's new layout, and a kubelet that has taken the list.
struct Verified : MigNode {
  Verified() : MigNode("h100-80gb", 1) {
    wish("all-3g.40gb");
    EXPECT_EQ(settle(), "success") << log_text();
    loop();
    seen.state.machine = machine();
    seen.state.config = config;
    seen.offer = std::make_shared<const offer::Offer>(offer::make_offer(machine(), config, {}));
    journal.to = {{uuid(0), mig::layout_of(control.state(uuid(0)))}};
  }
  // "" when verified.
  std::string trouble(Code code) {
    const auto result = verify(journal, neighbours, seen, kubelet);
    if (result) return "";
    EXPECT_EQ(result.error().code, code) << result.error().what;
    return result.error().what;
  }

  mig::Journal journal;
  MigNeighbours neighbours;
  MigView seen;
};

TEST(MigVerify, ALayoutThatIsListedAdvertisedAndOfferedIsInService) {
  Verified node;
  EXPECT_EQ(node.trouble(Code::kFailedPrecondition), "");
}

TEST(MigVerify, ADeviceThatTheDriverDoesNotListIsNamedWithItsGpu) {
  Verified node;
  node.seen.state.machine->gpus[0].mig_instances.pop_back();
  EXPECT_THAT(node.trouble(Code::kFailedPrecondition), HasSubstr("of GPU GPU-0"));
  node.seen.state.machine->gpus.clear();
  EXPECT_THAT(node.trouble(Code::kFailedPrecondition), HasSubstr("of GPU GPU-0"));
}

TEST(MigVerify, WhatTheLoopStillWithholdsIsNotInService) {
  Verified node;
  node.seen.state.edit<MigStanding>().changing["GPU-0"] = {};
  EXPECT_THAT(node.trouble(Code::kFailedPrecondition), HasSubstr("are not advertised"));
}

TEST(MigVerify, AControlDaemonThatDoesNotServeIsWaitedFor) {
  Verified node;
  node.neighbours.served_after = {"nvidia.com/gpu"};
  EXPECT_EQ(node.trouble(Code::kUnavailable), "") << "nobody says that it does not serve";
  node.seen.state.edit<MpsStandings>()[{"nvidia.com/gpu"}].trouble = "it is away";
  EXPECT_EQ(node.trouble(Code::kUnavailable),
            "nvidia.com/gpu is not served by MPS again: it is away");
}

TEST(MigVerify, AnotherListOfKubeletIsAFailureAndAKubeletThatIsAwayIsWaitedFor) {
  Verified node;
  auto& ids = node.kubelet.listed.at("nvidia.com/mig-3g.40gb");
  ids.erase(ids.begin());
  EXPECT_EQ(node.trouble(Code::kFailedPrecondition),
            "kubelet offers 1 of nvidia.com/mig-3g.40gb, not the 2 that there are");
  node.kubelet.away = true;
  EXPECT_EQ(node.trouble(Code::kUnavailable), "no such socket");
}

// Its list is not part of this change.
TEST(MigVerify, AResourceOfOtherGpusIsNotLookedAt) {
  Verified node;
  auto other = *node.seen.offer;
  ASSERT_FALSE(other.resources.empty());
  other.resources[0].devices[0].gpu_uuid = "GPU-1";
  other.resources[0].devices[1].gpu_uuid = "GPU-1";
  node.seen.offer = std::make_shared<const offer::Offer>(other);
  node.kubelet.listed.clear();
  EXPECT_EQ(node.trouble(Code::kFailedPrecondition), "");
  node.neighbours.resources = {other.resources[0].name.value};
  EXPECT_THAT(node.trouble(Code::kFailedPrecondition), HasSubstr("kubelet offers 0 of"));
}

}  // namespace
}  // namespace tranche::agent::mig_verify_test
