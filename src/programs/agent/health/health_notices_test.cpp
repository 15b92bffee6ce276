#include "agent/health/health_notices.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::agent::health_notices_test {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

UnhealthyDevices fallen(int from, int to) {
  UnhealthyDevices devices;
  for (int i = from; i < to; ++i) {
    const auto uuid = fmt::format("GPU-{}", i);
    devices[uuid] = {.name = fmt::format("GPU {} ({})", i, uuid),
                     .reason = "XID 79: the GPU must be reset",
                     .uuids = {uuid}};
  }
  return devices;
}

class HealthNoticesTest : public testing::Test {
 protected:
  HealthNoticesTest() {
    hold("a", "GPU-0::0");
    hold("b", "GPU-1::0");
    hold("gone", "GPU-0::1");
  }
  void hold(const std::string& pod, const std::string& id) {
    const auto device = id.substr(0, id.find("::"));
    held_.push_back({.device = device,
                     .gpu = device,
                     .resource = {"nvidia.com/gpu"},
                     .id = id,
                     .ns = "shop",
                     .pod = pod,
                     .pod_uid = pod == "gone" ? "" : "uid-" + pod,
                     .container = "main"});
  }
  std::vector<cluster::StandingEvent> look(const UnhealthyDevices& devices,
                                           seconds after = seconds(2)) {
    now_ += after;
    std::vector<cluster::StandingEvent> events;
    for (auto& [key, event] : notices_.tell(devices, holdings::Holdings(held_), now_)) {
      events.push_back(std::move(event));
    }
    return events;
  }

  HealthNotices notices_{"n1"};
  std::vector<holdings::Holding> held_;
  HealthNotices::Time now_{std::chrono::hours(1)};
};

TEST_F(HealthNoticesTest, TheNodeAndThePodThatHoldsTheGpuAreTold) {
  EXPECT_THAT(look({}), IsEmpty());
  const auto events = look(fallen(0, 1));
  ASSERT_THAT(events, SizeIs(2));
  EXPECT_EQ(events[0].event.regarding.kind, "Node");
  EXPECT_EQ(events[0].event.regarding.name, "n1");
  EXPECT_EQ(events[0].event.reason, "GpuUnhealthy");
  EXPECT_TRUE(events[0].event.warning);
  EXPECT_EQ(events[0].event.note, "no new Pod gets GPU 0 (GPU-0): XID 79: the GPU must be reset");
  EXPECT_EQ(events[1].event.regarding.kind, "Pod");
  EXPECT_EQ(events[1].event.regarding.uid, "uid-a");
  EXPECT_EQ(events[1].event.note,
            "container main holds a part of GPU 0 (GPU-0): XID 79: the GPU "
            "must be reset");
}

TEST_F(HealthNoticesTest, WithoutTheRightToReadPodsTheNodeAloneIsTold) {
  for (auto& one : held_) one.pod_uid.clear();
  EXPECT_THAT(look(fallen(0, 1)), SizeIs(1));
}

TEST_F(HealthNoticesTest, GpusThatFallTogetherAreOneEvent) {
  const auto events = look(fallen(0, 16));
  ASSERT_THAT(events, SizeIs(3)) << "the Node, and two Pods";
  EXPECT_THAT(events[0].event.note, HasSubstr("GPU 0 (GPU-0)"));
  EXPECT_THAT(events[0].event.note, HasSubstr("and 8 more"));
}

TEST_F(HealthNoticesTest, AGpuThatFallsLaterIsAnEventOfItsOwn) {
  look(fallen(0, 1));
  const auto events = look(fallen(0, 2));
  EXPECT_THAT(events, SizeIs(4));
}

TEST_F(HealthNoticesTest, OneThatFallsAgainAndAgainIsCounted) {
  std::set<std::string> times;
  std::set<std::string> falls;
  for (int i = 0; i < 20; ++i) {
    const auto events = look(fallen(2, 3));
    ASSERT_THAT(events, SizeIs(1));
    times.insert(cluster::key_of(events[0].event).to_string());
    falls.insert(*events[0].instances.begin());
    const auto healthy = look({});
    ASSERT_THAT(healthy, SizeIs(1));
    EXPECT_EQ(healthy[0].event.reason, "GpuRecovered");
  }
  EXPECT_THAT(times, SizeIs(1)) << "one Event";
  EXPECT_THAT(falls, SizeIs(20)) << "counted";
  look({}, minutes(10));
  look(fallen(2, 3));
  EXPECT_THAT(
      times,
      testing::Not(testing::Contains(cluster::key_of(look(fallen(2, 3))[0].event).to_string())))
      << "after a calm time another one";
}

TEST_F(HealthNoticesTest, ARecoveryIsToldOnceAllOfThemAreBack) {
  look(fallen(0, 2));
  for (const auto& event : look(fallen(0, 1))) EXPECT_EQ(event.event.reason, "GpuUnhealthy");
  const auto events = look({});
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_FALSE(events[0].event.warning);
  EXPECT_EQ(
      events[0].event.note,
      "healthy again, and given to Pods unless something else withholds it: GPU 0 (GPU-0), GPU 1 "
      "(GPU-1)");
  EXPECT_THAT(look({}, minutes(3)), IsEmpty());
}

}  // namespace
}  // namespace tranche::agent::health_notices_test
