#include "agent/node/pods_of_node.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "support/fake_objects.h"
#include "support/log_recorder.h"
#include "support/wait.h"

namespace tranche::agent::pods_of_node_test {
namespace {

using std::chrono::steady_clock;

constexpr const char* kUid = "11111111-1111-4111-8111-111111111111";

class PodsOfNodeTest : public testing::Test {
 protected:
  void put(const std::string& name, const std::string& uid) {
    objects_.put(
        cluster::kPod,
        R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "team", "name": ")" +
            name + R"(", "uid": ")" + uid + R"("}, "spec": {"nodeName": "n1"}})");
  }

  test::FakeObjects objects_;
  test::LogRecorder log_;
  PodsOfNode pods_{objects_, "n1", log_.log()};
};

TEST_F(PodsOfNodeTest, APodIsAwaitedUntilTheApiServerHasIt) {
  put("other", "22222222-2222-4222-8222-222222222222");
  std::jthread later([this] {
    std::ignore = pods_.all();
    put("train", kUid);
  });
  const auto pod = pods_.await(kUid, steady_clock::now() + std::chrono::seconds(30));
  ASSERT_TRUE(pod);
  EXPECT_EQ(pod->name, "train");
}

TEST_F(PodsOfNodeTest, PodsAreReadAgainOnlyWhenOneHasChanged) {
  put("train", kUid);
  ASSERT_TRUE(test::eventually([this] { return pods_.shared() != nullptr; }));
  ASSERT_TRUE(test::eventually([this] { return pods_.shared()->size() == 1; }));
  const auto before = pods_.shared();
  EXPECT_EQ(pods_.shared(), before);
  put("other", "22222222-2222-4222-8222-222222222222");
  EXPECT_TRUE(test::eventually([this] { return pods_.shared()->size() == 2; }));
}

TEST_F(PodsOfNodeTest, APodThatNeverComesIsAwaitedNoLongerThanAsked) {
  EXPECT_FALSE(pods_.await(kUid, steady_clock::now()));
  EXPECT_FALSE(pods_.await(kUid, steady_clock::now() + std::chrono::milliseconds(20)));
}

}  // namespace
}  // namespace tranche::agent::pods_of_node_test
