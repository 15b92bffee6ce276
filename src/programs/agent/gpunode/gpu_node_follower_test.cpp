// The follower's thread: nobody waits for it, and it ends on request.

#include "agent/gpunode/gpu_node_follower.h"

#include <gtest/gtest.h>

#include "cluster/kinds.h"
#include "offer/make_offer.h"
#include "support/fake_objects.h"
#include "support/log_recorder.h"
#include "support/machines.h"
#include "support/wait.h"

namespace tranche::agent::gpu_node_follower_test {
namespace {

const cluster::ObjectKey kKey{"", "gpu-a"};

class GpuNodeFollowerTest : public testing::Test {
 protected:
  GpuNodeFollower::Parts parts() {
    const auto owner = []() -> Result<cluster::OwnerReference> {
      return cluster::OwnerReference{"v1", "Node", "gpu-a", "uid-1"};
    };
    return {.object = GpuNodeObject(objects_, "gpu-a", owner),
            .source = {.book = book_, .driver_name = "gpu.nvidia.com"},
            .clock = clock_,
            .log = log_.log()};
  }
  Result<void> follow(Follower& follower, const gpu::HealthReport& health = {}) {
    state_.health = health;
    const auto offer = offer::make_offer(*state_.machine, {}, health);
    return follower.follow({state_, std::make_shared<const offer::Offer>(offer)});
  }
  bool says(const std::string& text) const {
    return objects_.text(cluster::kGpuNode, kKey).find(text) != std::string::npos;
  }

  SystemClock clock_;
  test::LogRecorder log_;
  test::FakeObjects objects_;
  Book book_{clock_};
  State state_{.machine = test::machine_of({test::l20(0)})};
};

TEST_F(GpuNodeFollowerTest, WritesWhatItIsHandedUntilItEnds) {
  GpuNodeFollower follower(parts());
  ASSERT_TRUE(follow(follower));
  EXPECT_TRUE(test::eventually([&] { return says("NVIDIA L20"); }));
  ASSERT_TRUE(follow(follower, {{test::gpu_uuid(0), "XID 79"}}));
  EXPECT_TRUE(test::eventually([&] { return says("XID 79"); }));
  follower.rest();
  const auto calls = objects_.calls().size();
  EXPECT_TRUE(follow(follower, {}));
  follower.finish();
  EXPECT_EQ(objects_.calls().size(), calls) << "the next agent writes";
  EXPECT_TRUE(says("XID 79")) << "the object stays";
}

TEST_F(GpuNodeFollowerTest, EndsAlsoWhileTheServerIsAway) {
  objects_.refuse("", cluster::kGpuNode, {Code::kUnavailable, "connection refused"});
  GpuNodeFollower follower(parts());
  ASSERT_TRUE(follow(follower));
  EXPECT_TRUE(test::eventually([&] { return objects_.count_calls("get gpunodes") > 0; }));
}

}  // namespace
}  // namespace tranche::agent::gpu_node_follower_test
