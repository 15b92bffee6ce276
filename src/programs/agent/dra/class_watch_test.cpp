#include "agent/dra/class_watch.h"

#include <gtest/gtest.h>

#include <atomic>

#include "cluster/kinds.h"
#include "support/fake_objects.h"
#include "support/log_recorder.h"
#include "support/wait.h"

namespace tranche::agent::class_watch_test {
namespace {

const Backoff kSoon{.first = std::chrono::milliseconds(1), .longest = std::chrono::milliseconds(5)};

constexpr const char* kWritten =
    R"({"metadata":{"name":"gpu.nvidia.com","annotations":{"tranche.dev/extended-resource-name":"nvidia.com/gpu"}},"spec":{"extendedResourceName":"nvidia.com/gpu"}})";
constexpr const char* kDropped =
    R"({"metadata":{"name":"gpu.nvidia.com","annotations":{"tranche.dev/extended-resource-name":"nvidia.com/gpu"}},"spec":{}})";

class ClassWatchTest : public testing::Test {
 protected:
  bool becomes(bool dropped) {
    return test::eventually([&] { return watch_.names_are_dropped() == dropped; });
  }

  test::FakeObjects objects_;
  test::LogRecorder log_;
  std::atomic<int> changes_ = 0;
  ClassWatch watch_{objects_, [this] { ++changes_; }, kSoon, log_.log()};
};

TEST_F(ClassWatchTest, ANameThatWasWrittenAndIsNotThereIsDropped) {
  objects_.put(cluster::kDeviceClass, kDropped);
  EXPECT_TRUE(becomes(true));
  objects_.put(cluster::kDeviceClass, kWritten);
  EXPECT_TRUE(becomes(false));
  EXPECT_TRUE(test::eventually([&] { return changes_ == 2; }));
  objects_.put(cluster::kDeviceClass, kDropped);
  EXPECT_TRUE(becomes(true));
  objects_.erase(cluster::kDeviceClass, {"", "gpu.nvidia.com"});
  EXPECT_TRUE(becomes(false));
}

TEST_F(ClassWatchTest, AClassThatWasMadeWithoutANameHasLostNone) {
  objects_.put(cluster::kDeviceClass, R"({"metadata":{"name":"gpu-share"},"spec":{}})");
  objects_.put(cluster::kDeviceClass, R"({"metadata":{"name":"odd","annotations":[]}})");
  objects_.put(cluster::kDeviceClass, kWritten);
  EXPECT_TRUE(test::eventually([&] { return objects_.open_watches() == 1; }));
  EXPECT_FALSE(watch_.names_are_dropped());
  EXPECT_EQ(changes_, 0);
}

}  // namespace
}  // namespace tranche::agent::class_watch_test
