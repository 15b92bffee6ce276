#include "gpu/health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::gpu::health_test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using TimePoint = HealthTracker::TimePoint;
constexpr TimePoint kStart{1h};
constexpr auto kQuiet = 5min;

// GPU-a whole; GPU-b with MIG instances 1/0, 1/1 (one GPU instance) and 2/0.
Machine machine() {
  Machine machine;
  machine.gpus = {{.index = 0, .uuid = {"GPU-a"}},
                  {.index = 1, .uuid = {"GPU-b"}, .mig_mode = MigMode::kEnabled}};
  machine.gpus[1].mig_instances = {
      {.uuid = {"MIG-1-0"}, .slot = 0, .gpu_instance_id = 1, .compute_instance_id = 0},
      {.uuid = {"MIG-1-1"}, .slot = 1, .gpu_instance_id = 1, .compute_instance_id = 1},
      {.uuid = {"MIG-2-0"}, .slot = 2, .gpu_instance_id = 2, .compute_instance_id = 0}};
  return machine;
}

HealthTracker tracker(std::string_view disable = "", std::string_view enable = "") {
  return HealthTracker(make_xid_policy(disable, enable), kQuiet);
}

std::vector<std::string> keys(const HealthReport& report) {
  std::vector<std::string> keys;
  for (const auto& [key, reason] : report) keys.push_back(key);
  return keys;
}

TEST(XidPolicy, FromTheEnvironment) {
  struct Case {
    const char* name;
    const char* disable;
    const char* enable;
    std::vector<std::uint64_t> counted;
    std::vector<std::uint64_t> ignored;
    bool listens;
    std::size_t warnings;
  };
  const Case cases[] = {
      {"defaults", "", "", {79, 48, 1, 999}, {13, 31, 43, 45, 68, 109}, true, 0},
      {"one more ignored", "79", "", {48}, {13, 79}, true, 0},
      {"list, spaces, capitals", " 79 , 48 ,XIDS", "", {}, {79, 48, 1}, false, 0},
      {"all off", "ALL", "", {}, {79, 1}, false, 0},
      {"off but one", "all", "79", {79}, {48, 13}, true, 0},
      {"ignored put back", "", "13,31", {13, 31, 79}, {43}, true, 0},
      {"enable wins over disable", "79", "79", {79}, {13}, true, 0},
      {"everything", "", "all", {13, 79, 109}, {}, true, 0},
      {"everything though all off", "all", "all", {13, 79}, {}, true, 0},
      {"everything by its other name", "", " XIDs ", {13, 79, 109}, {}, true, 0},
      {"malformed", "abc,-1,7x,,79", "zz", {48}, {79, 13}, true, 4},
      {"too large", "99999999999999999999999", "", {48}, {13}, true, 1},
  };
  for (const auto& c : cases) {
    const auto policy = make_xid_policy(c.disable, c.enable);
    for (const auto xid : c.counted) EXPECT_TRUE(policy.counts(xid)) << c.name << " " << xid;
    for (const auto xid : c.ignored) EXPECT_FALSE(policy.counts(xid)) << c.name << " " << xid;
    EXPECT_EQ(policy.listens(), c.listens) << c.name;
    EXPECT_EQ(policy.warnings.size(), c.warnings) << c.name;
  }
}

TEST(XidPolicy, WarningsNameTheVariableAndTheWord) {
  EXPECT_THAT(make_xid_policy("foo", "").warnings,
              ElementsAre(HasSubstr("DP_DISABLE_HEALTHCHECKS: 'foo'")));
}

TEST(Health, WhatAnXidMarks) {
  struct Case {
    const char* name;
    XidEvent event;
    std::vector<std::string> unhealthy;
  };
  const Case cases[] = {
      {"a whole GPU", {.xid = 79, .gpu = GpuUuid{"GPU-a"}}, {"GPU-a"}},
      {"a GPU with MIG: all of it",
       {.xid = 79, .gpu = GpuUuid{"GPU-b"}},
       {"GPU-b", "MIG-1-0", "MIG-1-1", "MIG-2-0"}},
      {"a GPU instance: all its compute instances",
       {.xid = 94, .gpu = GpuUuid{"GPU-b"}, .gpu_instance_id = 1},
       {"MIG-1-0", "MIG-1-1"}},
      {"a compute instance",
       {.xid = 94, .gpu = GpuUuid{"GPU-b"}, .gpu_instance_id = 1, .compute_instance_id = 1},
       {"MIG-1-1"}},
      {"an instance that is not there",
       {.xid = 94, .gpu = GpuUuid{"GPU-b"}, .gpu_instance_id = 7},
       {}},
      {"no GPU: every device", {.xid = 79}, {"GPU-a", "GPU-b", "MIG-1-0", "MIG-1-1", "MIG-2-0"}},
      {"a GPU that is not there", {.xid = 79, .gpu = GpuUuid{"GPU-z"}}, {}},
      {"an application's fault", {.xid = 13, .gpu = GpuUuid{"GPU-a"}}, {}},
  };
  for (const auto& c : cases) {
    auto health = tracker();
    health.on_xid(c.event, kStart);
    EXPECT_EQ(keys(health.report(machine(), kStart)), c.unhealthy) << c.name;
  }
}

TEST(Health, ReasonsNameTheXidAndTheRemedy) {
  auto health = tracker();
  health.on_xid({.xid = 79, .gpu = GpuUuid{"GPU-a"}}, kStart);
  EXPECT_THAT(health.report(machine(), kStart)["GPU-a"],
              ::testing::AllOf(HasSubstr("XID 79"), HasSubstr("nvidia-smi --gpu-reset")));
  health.on_xid({.xid = 63, .gpu = GpuUuid{"GPU-b"}}, kStart);
  EXPECT_THAT(health.report(machine(), kStart)["MIG-2-0"],
              ::testing::AllOf(HasSubstr("XID 63"), HasSubstr("300 s")));
}

TEST(Health, LostAndHangingGpusAreUnhealthyWhileItLasts) {
  auto health = tracker("all");  // no matter what the XID policy is
  auto now = machine();
  now.gpus[0].presence = Presence::kLost;
  now.gpus[0].presence_reason = "GPU is lost";
  now.gpus[1].presence = Presence::kUnknown;
  now.gpus[1].presence_reason = "nvmlDeviceGetName hangs";
  health.on_reading(now, kStart);
  const auto report = health.report(now, kStart);
  EXPECT_THAT(keys(report), ElementsAre("GPU-a", "GPU-b", "MIG-1-0", "MIG-1-1", "MIG-2-0"));
  EXPECT_THAT(report.at("GPU-a"), HasSubstr("GPU is lost"));
  EXPECT_THAT(report.at("MIG-1-0"), HasSubstr("nvmlDeviceGetName hangs"));
  health.on_reading(machine(), kStart + 1s);
  EXPECT_THAT(health.report(machine(), kStart + 1s), IsEmpty());
}

// When a fault is over: what was seen after it, and after how long.
TEST(Health, Recovery) {
  struct Case {
    const char* name;
    std::uint64_t xid;
    std::optional<int> action;
    bool lost_between;
    std::chrono::seconds after;
    bool healthy;
  };
  const Case cases[] = {
      {"too early", 63, std::nullopt, false, 299s, false},
      {"quiet passed", 63, std::nullopt, false, 300s, true},
      {"driver agrees", 63, 0, false, 300s, true},
      {"driver agrees, too early", 63, 0, false, 10s, false},
      {"driver wants a reset", 63, 1, false, 1h, false},
      {"driver wants peers drained", 63, 3, false, 1h, false},
      {"needs a reset, none seen", 79, std::nullopt, false, 24h, false},
      {"needs a reset, seen lost and back", 79, std::nullopt, true, 300s, true},
      {"seen lost and back, too early", 79, std::nullopt, true, 200s, false},
      {"needs a reset, driver says none", 79, 0, false, 300s, true},
      {"needs a reset, driver still wants it", 79, 1, true, 24h, false},
  };
  for (const auto& c : cases) {
    for (const bool prune : {false, true}) {
      auto health = tracker();
      health.on_xid({.xid = c.xid, .gpu = GpuUuid{"GPU-a"}}, kStart);
      auto now = machine();
      if (c.lost_between) {
        now.gpus[0].presence = Presence::kLost;
        health.on_reading(now, kStart + 30s);
        now.gpus[0].presence = Presence::kPresent;
      }
      now.gpus[0].recovery_action = c.action;
      health.on_reading(now, kStart + (prune ? c.after : 31s));
      EXPECT_EQ(health.report(now, kStart + c.after).empty(), c.healthy)
          << c.name << (prune ? ", pruned" : "");
    }
  }
}

TEST(Health, AResetThatWasSeenIsToldWithTheTimeThatIsLeft) {
  for (const bool driver_tells : {false, true}) {
    auto health = tracker();
    health.on_xid({.xid = 79, .gpu = GpuUuid{"GPU-a"}}, kStart);
    auto now = machine();
    now.gpus[0].presence = Presence::kLost;
    health.on_reading(now, kStart + 30s);
    now.gpus[0].presence = Presence::kPresent;
    if (driver_tells) now.gpus[0].recovery_action = 0;
    health.on_reading(now, kStart + 31s);
    const auto reason = health.report(now, kStart + 31s)["GPU-a"];
    EXPECT_THAT(reason, HasSubstr(driver_tells ? "XID 79: the driver asks for no reset any more"
                                               : "XID 79: the GPU was reset since"));
    EXPECT_THAT(reason, HasSubstr("handed out 300 s after the XID"));
  }
}

TEST(Health, LostBeforeTheXidDoesNotCount) {
  auto health = tracker();
  auto lost = machine();
  lost.gpus[0].presence = Presence::kLost;
  health.on_reading(lost, kStart);
  health.on_xid({.xid = 79, .gpu = GpuUuid{"GPU-a"}}, kStart + 1s);
  EXPECT_THAT(keys(health.report(machine(), kStart + 1h)), ElementsAre("GPU-a"));
}

// A quiet time may be shorter than the time between two readings.
TEST(Health, WhatWasReadBeforeTheXidHealsNothing) {
  HealthTracker health(make_xid_policy("", ""), 1s);
  auto well = machine();
  well.gpus[0].recovery_action = 0;
  health.on_reading(well, kStart);
  health.on_xid({.xid = 79, .gpu = GpuUuid{"GPU-a"}}, kStart + 1s);
  EXPECT_THAT(keys(health.report(well, kStart + 9s)), ElementsAre("GPU-a"));
  health.on_reading(well, kStart + 10s);
  EXPECT_THAT(health.report(well, kStart + 10s), IsEmpty());
}

TEST(Health, AnotherXidStartsTheQuietTimeAnew) {
  auto health = tracker();
  health.on_xid({.xid = 63, .gpu = GpuUuid{"GPU-a"}}, kStart);
  health.on_xid({.xid = 94, .gpu = GpuUuid{"GPU-a"}}, kStart + 200s);
  health.on_reading(machine(), kStart + 201s);
  EXPECT_THAT(keys(health.report(machine(), kStart + 499s)), ElementsAre("GPU-a"));
  EXPECT_THAT(health.report(machine(), kStart + 500s), IsEmpty());
}

TEST(Health, AMilderXidDoesNotCoverOneThatNeedsAReset) {
  auto health = tracker();
  health.on_xid({.xid = 79, .gpu = GpuUuid{"GPU-a"}}, kStart);
  health.on_xid({.xid = 63, .gpu = GpuUuid{"GPU-a"}}, kStart + 1s);
  EXPECT_THAT(keys(health.report(machine(), kStart + 1h)), ElementsAre("GPU-a"));
}

TEST(Health, AnXidWithoutAGpuHealsGpuByGpu) {
  auto health = tracker();
  health.on_xid({.xid = 63}, kStart);
  auto now = machine();
  now.gpus[1].recovery_action = 1;
  health.on_reading(now, kStart + 300s);
  EXPECT_THAT(keys(health.report(now, kStart + 300s)),
              ElementsAre("GPU-b", "MIG-1-0", "MIG-1-1", "MIG-2-0"));
}

TEST(Health, WhatTheDriverAsksFor) {
  struct Case {
    const char* name;
    std::optional<int> action;
    bool healthy;
  };
  const Case cases[] = {{"not told", std::nullopt, true}, {"none", 0, true},
                        {"GPU reset", 1, false},          {"node reboot", 2, false},
                        {"drain peer traffic", 3, true},  {"drain and reset", 4, false},
                        {"recover IMEX domain", 5, true}, {"bus reset", 6, false},
                        {"system reboot", 7, false},      {"a new one", 42, true}};
  for (const auto& c : cases) {
    auto now = machine();
    now.gpus[0].recovery_action = c.action;
    EXPECT_EQ(tracker().report(now, kStart).empty(), c.healthy) << c.name;
    EXPECT_THAT(tracker("all").report(now, kStart), IsEmpty()) << c.name << ", checks off";
  }
}

TEST(Health, ForgetForgetsXidsAndNotReadings) {
  auto health = tracker();
  health.on_xid({.xid = 79, .gpu = GpuUuid{"GPU-a"}}, kStart);
  auto now = machine();
  now.gpus[1].presence = Presence::kLost;
  health.forget();
  EXPECT_THAT(keys(health.report(now, kStart)),
              ElementsAre("GPU-b", "MIG-1-0", "MIG-1-1", "MIG-2-0"));
  EXPECT_EQ(health.next_change(kStart), std::nullopt);
}

TEST(Health, NextChangeIsTheNearestEndOfQuiet) {
  auto health = tracker();
  EXPECT_EQ(health.next_change(kStart), std::nullopt);
  health.on_xid({.xid = 63, .gpu = GpuUuid{"GPU-b"}}, kStart + 10s);
  health.on_xid({.xid = 63, .gpu = GpuUuid{"GPU-a"}}, kStart);
  EXPECT_EQ(health.next_change(kStart + 10s), kStart + kQuiet);
  EXPECT_EQ(health.next_change(kStart + kQuiet), kStart + 10s + kQuiet);
  EXPECT_EQ(health.next_change(kStart + 10s + kQuiet), std::nullopt);
}

TEST(Health, AnXidStormIsOneFault) {
  auto health = tracker();
  for (int i = 0; i < 100'000; ++i) {
    health.on_xid({.xid = 200U + static_cast<std::uint64_t>(i), .gpu = GpuUuid{"GPU-a"}},
                  kStart + std::chrono::milliseconds(i));
  }
  // One place, one kind of recovery: one thing to wait for, the newest.
  EXPECT_EQ(health.next_change(kStart), kStart + 99'999ms + kQuiet);
  EXPECT_THAT(health.report(machine(), kStart + 100s)["GPU-a"], HasSubstr("XID 100199"));
}

}  // namespace
}  // namespace tranche::gpu::health_test
