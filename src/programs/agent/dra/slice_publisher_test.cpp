#include "agent/dra/slice_publisher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "cluster/kinds.h"
#include "support/fake_objects.h"
#include "support/log_recorder.h"
#include "support/machines.h"
#include "support/wait.h"

namespace tranche::agent::slice_publisher_test {
namespace {

using cluster::kResourceSlice;

const Backoff kSoon{.first = std::chrono::milliseconds(1), .longest = std::chrono::milliseconds(5)};
constexpr const char* kSlice = "n1-gpu.nvidia.com-00";

dra::Pool pool_of(int gpus) {
  return dra::make_pool(test::machine_of(gpus, test::l20), {.shares = true});
}

class SlicePublisherTest : public testing::Test {
 protected:
  SlicePublisher::Ports ports() {
    return {.objects = objects_,
            .names = {.driver = "gpu.nvidia.com", .node = "n1"},
            .owner = [this]() -> Result<cluster::OwnerReference> {
              if (!node_known_) return fail(Code::kUnavailable, "the Node is not known yet");
              return cluster::OwnerReference{"v1", "Node", "n1", "node-uid", true};
            },
            .dropped = [this](dra::Dropped dropped) { dropped_ = dropped.shares; },
            .log = log_.log()};
  }
  std::optional<cluster::ResourceSlice> slice() const {
    const auto text = objects_.text(kResourceSlice, {"", kSlice});
    if (text.empty()) return std::nullopt;
    return cluster::parse_resource_slice(text).value();
  }
  // Each GPU is there for claims and for adminAccess.
  bool has_gpus(std::size_t count) const {
    const auto now = slice();
    return now && now->devices.size() == 2 * count;
  }

  test::FakeObjects objects_;
  test::LogRecorder log_;
  std::atomic<bool> node_known_ = true;
  std::atomic<bool> dropped_ = false;
};

TEST_F(SlicePublisherTest, FollowsThePool) {
  SlicePublisher publisher(ports(), kSoon);
  publisher.publish(pool_of(1));
  ASSERT_TRUE(test::eventually([&] { return has_gpus(1); }));
  EXPECT_EQ(slice()->owners.at(0).uid, "node-uid");
  publisher.publish(pool_of(3));
  EXPECT_TRUE(test::eventually([&] { return has_gpus(3); }));
  EXPECT_EQ(slice()->pool.generation, 1);
  EXPECT_FALSE(dropped_);
}

// A listed slice may be gone when it is written.
TEST_F(SlicePublisherTest, WhoIsFasterIsFollowedAtOnce) {
  const Backoff never{.first = std::chrono::hours(1), .longest = std::chrono::hours(1)};
  SlicePublisher publisher(ports(), never);
  publisher.publish(pool_of(1));
  ASSERT_TRUE(test::eventually([&] { return has_gpus(1); }));
  objects_.refuse("update", kResourceSlice, {Code::kNotFound, "it has gone"}, 2);
  publisher.publish(pool_of(3));
  EXPECT_TRUE(test::eventually([&] { return has_gpus(3); }));
}

// Kubelet removes all slices of its node when it starts.
TEST_F(SlicePublisherTest, MakesAgainWhatSomebodyRemovedOrChanged) {
  SlicePublisher publisher(ports(), kSoon);
  publisher.publish(pool_of(2));
  ASSERT_TRUE(test::eventually([&] { return has_gpus(2); }));
  ASSERT_TRUE(test::eventually([&] { return objects_.open_watches() == 1; }));
  objects_.erase(kResourceSlice, {"", kSlice});
  EXPECT_TRUE(test::eventually([&] { return has_gpus(2); }));
  auto changed = *slice();
  changed.devices.pop_back();
  objects_.put(kResourceSlice, to_json(changed));
  EXPECT_TRUE(test::eventually([&] { return has_gpus(2); }));
}

TEST_F(SlicePublisherTest, GoesOnWhenTheApiServerIsBackAndTheNodeIsKnown) {
  node_known_ = false;
  objects_.refuse("create", kResourceSlice, {Code::kUnavailable, "away"});
  SlicePublisher publisher(ports(), kSoon);
  publisher.publish(pool_of(2));
  ASSERT_TRUE(test::eventually([&] { return log_.count("the Node is not known yet") > 0; }));
  node_known_ = true;
  ASSERT_TRUE(test::eventually([&] { return log_.count("away") > 0; }));
  EXPECT_FALSE(slice());
  objects_.recover();
  EXPECT_TRUE(test::eventually([&] { return has_gpus(2); }));
}

// Slices of another node and another driver are not touched.
TEST_F(SlicePublisherTest, TouchesItsOwnAlone) {
  const auto other = [&](const char* name, const char* driver, const char* node) {
    objects_.put(kResourceSlice,
                 to_json(cluster::ResourceSlice{
                     .name = name, .driver = driver, .node = node, .pool = {.name = "p"}}));
  };
  other("a", "gpu.nvidia.com", "n2");
  other("b", "other.example.com", "n1");
  other("mine", "gpu.nvidia.com", "n1");
  SlicePublisher publisher(ports(), kSoon);
  publisher.publish(pool_of(1));
  ASSERT_TRUE(test::eventually(
      [&] { return has_gpus(1) && objects_.text(kResourceSlice, {"", "mine"}).empty(); }));
  EXPECT_FALSE(objects_.text(kResourceSlice, {"", "a"}).empty());
  EXPECT_FALSE(objects_.text(kResourceSlice, {"", "b"}).empty());
}

// What is up to date is not written: each write wakes every scheduler.
TEST_F(SlicePublisherTest, WritesOnlyWhatDiffers) {
  SlicePublisher publisher(ports(), kSoon);
  for (int i = 0; i < 5; ++i) publisher.publish(pool_of(2));
  ASSERT_TRUE(test::eventually([&] { return has_gpus(2); }));
  const auto lists = objects_.count_calls("list resourceslices");
  for (int i = 0; i < 5; ++i) publisher.publish(pool_of(2));
  ASSERT_TRUE(
      test::eventually([&] { return objects_.count_calls("list resourceslices") > lists; }));
  EXPECT_EQ(objects_.count_calls("create resourceslices"), 1);
  EXPECT_EQ(objects_.count_calls("update resourceslices"), 0);
}

}  // namespace
}  // namespace tranche::agent::slice_publisher_test
