#include "agent/health/gpu_health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/health/health_follower.h"
#include "support/machines.h"

namespace tranche::agent::gpu_health_test {
namespace {

using test::gpu_uuid;
using test::mig_uuid;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

gpu::Machine machine() {
  return test::machine_of({test::a100_40gb(0).mig({"1g.5gb", "1g.5gb"}), test::a100_40gb(1)});
}

TEST(GpuHealth, AGpuIsToldWithoutItsInstances) {
  const std::string reason = "XID 79: the GPU must be reset";
  const auto devices = unhealthy_devices(
      machine(), {{gpu_uuid(0), reason}, {mig_uuid(0, 0), reason}, {mig_uuid(0, 1), reason}});
  ASSERT_THAT(devices, SizeIs(1));
  const auto& device = devices.begin()->second;
  EXPECT_EQ(device.name, "GPU 0 (" + gpu_uuid(0) + ")");
  EXPECT_EQ(device.reason, reason);
  EXPECT_THAT(device.uuids, ElementsAre(gpu_uuid(0), mig_uuid(0, 0), mig_uuid(0, 1)));
}

TEST(GpuHealth, AnInstanceThatIsUnhealthyAloneNamesItsGpu) {
  const auto devices = unhealthy_devices(machine(), {{mig_uuid(0, 1), "XID 94"}});
  ASSERT_THAT(devices, SizeIs(1));
  EXPECT_EQ(devices.begin()->second.name, mig_uuid(0, 1) + " of GPU 0 (" + gpu_uuid(0) + ")");
}

TEST(GpuHealth, TheConditionNamesEachGpuWithItsReason) {
  const auto good = health_condition({}, 2);
  EXPECT_TRUE(good.good);
  EXPECT_TRUE(good.written_while_good);
  EXPECT_FALSE(health_condition({}, 0).written_while_good) << "a node without GPUs lacks it";
  const auto devices =
      unhealthy_devices(machine(), {{gpu_uuid(0), "XID 79"}, {gpu_uuid(1), "lost"}});
  const auto bad = health_condition(devices, 2);
  EXPECT_FALSE(bad.good);
  EXPECT_EQ(bad.type, "TrancheGpuHealthy");
  EXPECT_EQ(bad.reason, "GpuUnhealthy");
  EXPECT_EQ(bad.message, "GPU 0 (" + gpu_uuid(0) + "): XID 79; GPU 1 (" + gpu_uuid(1) + "): lost");
}

TEST(GpuHealth, ADriverThatIsGoneIsToldAsThat) {
  gpu::Machine machine;
  gpu::HealthReport health;
  for (int i = 0; i < 12; ++i) {
    auto one = test::machine_of({test::a100_40gb(i)}).gpus.at(0);
    one.index = i;
    one.presence = gpu::Presence::kLost;
    health[one.uuid.value] = "the GPU is lost: Driver Not Loaded";
    machine.gpus.push_back(std::move(one));
  }
  const auto devices = unhealthy_devices(machine, health);
  const auto gone = health_condition(devices, 12);
  EXPECT_EQ(gone.reason, "NoGpuAnswers");
  EXPECT_THAT(gone.message, HasSubstr("lsmod | grep nvidia"));
  EXPECT_THAT(gone.message, HasSubstr("GPU 0 (" + gpu_uuid(0) + "), GPU 1 (" + gpu_uuid(1)));
  EXPECT_THAT(gone.message, HasSubstr("GPU 7 (" + gpu_uuid(7) + "): the GPU is lost: Driver"));
  EXPECT_THAT(gone.message, HasSubstr("; and 4 more"));
  EXPECT_THAT(health_condition(devices, 13).message, testing::StartsWith("GPU 0"))
      << "one is there";
}

TEST(GpuHealth, ManyAreCounted) {
  std::vector<UnhealthyDevice> many(16, {.name = "GPU", .reason = "lost", .uuids = {}});
  EXPECT_THAT(describe(many), HasSubstr("; and 8 more"));
}

TEST(HealthFollower, ReportsAndRemarksWhileTheAgentIsReady) {
  std::vector<ConditionReport> reports;
  std::vector<std::size_t> told;
  HealthFollower follower([&](const auto& report) { reports.push_back(report); },
                          [&](const auto& devices) { told.push_back(devices.size()); });
  State state;
  state.machine = machine();
  const auto offer = std::make_shared<const offer::Offer>();
  const std::chrono::steady_clock::time_point now{std::chrono::hours(1)};
  EXPECT_TRUE(follower.follow({state, offer}));
  follower.tick(now);
  follower.tick(now);
  ASSERT_THAT(reports, SizeIs(1));
  EXPECT_TRUE(reports[0].good);
  EXPECT_EQ(follower.remark(), "");

  state.health[gpu_uuid(1)] = "XID 79: the GPU must be reset";
  EXPECT_TRUE(follower.follow({state, offer}));
  follower.tick(now);
  ASSERT_THAT(reports, SizeIs(2));
  EXPECT_FALSE(reports[1].good);
  EXPECT_EQ(follower.trouble(), "");
  EXPECT_THAT(follower.remark(), HasSubstr("1 of 2 GPUs unhealthy: GPU 1"));
  follower.tick(now + HealthFollower::kEach);
  EXPECT_THAT(reports, SizeIs(3)) << "again, should somebody have changed the Node";
  EXPECT_THAT(told, ElementsAre(0, 1));
}

}  // namespace
}  // namespace tranche::agent::gpu_health_test
