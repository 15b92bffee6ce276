#include "incidents/recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "incidents/incident_json.h"

namespace tranche::incidents::recorder_test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30U;
constexpr Ns kStart = 1000s;

class RecorderTest : public ::testing::Test {
 protected:
  // Two tenants of one GPU.
  RecorderTest() {
    for (const char* id : {"a", "b"}) {
      node.tenants.push_back(
          {.id = id,
           .resource = "nvidia.com/gpu",
           .by_limit = {},
           .by_driver = {},
           .devices = {
               {.device = "GPU-1", .limit_bytes = 8 * kGiB, .totals = {}, .busy_since = {}}}});
    }
  }
  TenantReading& tenant(int i) { return node.tenants[static_cast<std::size_t>(i)]; }
  Track::Totals& totals(int i) { return tenant(i).devices[0].totals; }
  std::vector<Incident> sample() { return recorder.take(node, now, wall()); }
  // Samples four times a second; returns what was found in this time.
  std::vector<Incident> pass(Ns time, const std::function<void()>& each = [] {}) {
    std::vector<Incident> found;
    for (const Ns end = now + time; now < end;) {
      now += 250ms;
      each();
      for (auto& one : sample()) found.push_back(std::move(one));
    }
    return found;
  }
  void refuse(int i, std::uint64_t bytes) {
    ++tenant(i).refused;
    tenant(i).by_limit = {.asked = bytes, .held = totals(i).held, .at = now};
  }
  cluster::WallTime wall() const {
    return cluster::WallTime(std::chrono::duration_cast<cluster::WallTime::duration>(now));
  }

  NodeReading node;
  Ns now = kStart;
  Recorder recorder{10s};
};

TEST_F(RecorderTest, ARefusalTellsWhatWasAskedAndWhoGrewBefore) {
  totals(0).held = 7 * kGiB;
  pass(20s);
  totals(1).held = 3 * kGiB;
  pass(4s);
  refuse(0, 2 * kGiB);
  const auto found = pass(250ms);
  ASSERT_EQ(found.size(), 1U);
  const Incident& incident = found[0];
  EXPECT_EQ(incident.cause, Cause::kLimit);
  EXPECT_EQ(incident.tenant, "a");
  EXPECT_EQ(incident.device, "GPU-1");
  EXPECT_EQ(incident.asked_bytes, 2 * kGiB);
  EXPECT_EQ(incident.held_bytes, 7 * kGiB);
  EXPECT_EQ(incident.times, 1U);
  ASSERT_EQ(incident.holders.size(), 2U);
  EXPECT_EQ(incident.holders[0].growth, Growth()) << "the victim";
  EXPECT_EQ(incident.holders[1].growth.bytes, 3 * kGiB);
  EXPECT_NEAR(static_cast<double>(incident.holders[1].growth.before_ms), 3750, 250);
  EXPECT_EQ(incident.holders[1].held_bytes, 3 * kGiB);
  EXPECT_EQ(incident.holders[1].seconds.back().held_bytes, 3 * kGiB);
  EXPECT_EQ(incident.holders[1].seconds.front().held_bytes, 0U);
}

TEST_F(RecorderTest, WhoComesWithMemoryHasGrownUnlessItWasThere) {
  auto other = tenant(1);
  node.tenants.pop_back();
  pass(1s);
  other.devices[0].totals.held = 3 * kGiB;
  for (const char* id : {"new", "earlier"}) {
    node.tenants.push_back(other);
    node.tenants.back().id = id;
  }
  node.unsettled = {"earlier"};
  pass(1s);
  refuse(0, kGiB);
  const auto found = pass(250ms);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].holders[1].tenant, "new");
  EXPECT_EQ(found[0].holders[1].growth.bytes, 3 * kGiB);
  EXPECT_EQ(found[0].holders[2].growth, Growth());
}

TEST_F(RecorderTest, OneIncidentInThirtySecondsCountsAllOfThem) {
  pass(1s);
  int refused = 0;
  auto found = pass(10s, [&] {
    for (int i = 0; i < 250; ++i, ++refused) refuse(0, kGiB);
  });
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].times, 250U);
  EXPECT_EQ(refused, 10000);
  found = pass(60s);
  ASSERT_EQ(found.size(), 1U) << "the rest, and then no more";
  EXPECT_EQ(found[0].times, 9750U);
}

TEST_F(RecorderTest, TheDriversRefusalIsAnotherCause) {
  pass(1s);
  tenant(0).refused = 1;
  tenant(0).by_driver = {.asked = kGiB, .at = now};
  totals(0).held = kGiB;
  const auto found = pass(1s);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].cause, Cause::kDevice);
  EXPECT_EQ(found[0].held_bytes, kGiB) << "as the arbiter counts it";
}

TEST_F(RecorderTest, AProcessThatLiesHarmsOnlyItself) {
  pass(1s);
  tenant(0).by_limit = {.device = 200, .asked = kGiB, .at = now};
  EXPECT_TRUE(pass(1s).empty()) << "a device that it does not have";
  tenant(0).by_limit = {.asked = kGiB, .at = now + 1h};
  EXPECT_TRUE(pass(1s).empty()) << "a time that has not come";
  tenant(0).by_limit = {.asked = ~std::uint64_t{0}, .held = ~std::uint64_t{0}, .at = now};
  tenant(0).refused = ~std::uint64_t{0};
  const auto found = pass(1s);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].asked_bytes, std::nullopt);
  EXPECT_EQ(found[0].held_bytes, 0U);
  EXPECT_TRUE(decode(encode([&] {
    Incident named = found[0];
    named.id = "x";
    return named;
  }())));
}

TEST_F(RecorderTest, WhatFailedUnderAnEarlierArbiterIsNotTold) {
  tenant(0).refused = 70;
  tenant(0).by_limit = {.asked = kGiB, .at = kStart - 1s};
  EXPECT_TRUE(pass(60s).empty());
  refuse(0, kGiB);
  const auto found = pass(1s);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].times, 1U);
}

TEST_F(RecorderTest, AnOlderLibraryCountsAndTellsNothing) {
  pass(1s);
  EXPECT_TRUE(pass(5s, [&] { ++tenant(0).refused; }).empty());
}

TEST_F(RecorderTest, WhoWaitsWhileOthersRunIsStarved) {
  pass(1s);
  const auto run = [&] {
    totals(0).waited_ns += 250'000'000;
    totals(1).gpu_ns += 250'000'000;
  };
  EXPECT_TRUE(pass(9s, run).empty());
  const auto found = pass(5s, run);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].cause, Cause::kStarved);
  EXPECT_EQ(found[0].tenant, "a");
  EXPECT_EQ(found[0].stalled_ms, 10'000U);
  EXPECT_EQ(found[0].holders[1].seconds.back().gpu_ms, 1000U);
  EXPECT_TRUE(pass(60s, run).empty()) << "told once";
  totals(0).gpu_ns += 1;
  pass(1s, run);
  EXPECT_EQ(pass(15s, run).size(), 1U) << "it got some time meanwhile, so this is another one";
}

TEST_F(RecorderTest, WhoWaitsWhileNobodyRunsIsNot) {
  pass(1s);
  EXPECT_TRUE(pass(60s, [&] { totals(0).waited_ns += 250'000'000; }).empty());
}

TEST_F(RecorderTest, WhoGetsALittleIsNot) {
  pass(1s);
  EXPECT_TRUE(pass(60s, [&] {
                totals(0).waited_ns += 200'000'000;
                totals(1).gpu_ns += 250'000'000;
                if (now % 5s == Ns{0}) totals(0).gpu_ns += 1'000'000;
              }).empty());
}

TEST_F(RecorderTest, ALaunchThatDoesNotEndIsToldOnce) {
  pass(1s);
  tenant(1).devices[0].busy_since = now;
  auto found = pass(90s, [&] { totals(1).gpu_ns += 250'000'000; });
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].cause, Cause::kLongLaunch);
  EXPECT_EQ(found[0].tenant, "b");
  tenant(1).devices[0].busy_since = now;
  EXPECT_EQ(pass(15s).size(), 1U) << "another launch";
}

TEST_F(RecorderTest, StallsAreNotLookedForWithoutATime) {
  Recorder off(Ns{0});
  tenant(0).devices[0].busy_since = now;
  for (int i = 0; i < 400; ++i) {
    now += 250ms;
    EXPECT_TRUE(off.take(node, now, wall()).empty());
  }
}

TEST_F(RecorderTest, AnXidTellsWhoHeldTheGpuThen) {
  totals(0).held = kGiB;
  pass(30s, [&] {
    ++totals(0).launches;
    totals(0).gpu_ns += 100'000'000;
  });
  const auto at = wall();
  totals(0).held = 0;  // its process has died of it
  pass(5s);
  const auto incident = recorder.describe_xid("GPU-1", {"GPU-1", "MIG-1"}, 31, at, now, wall());
  EXPECT_EQ(incident.cause, Cause::kXid);
  EXPECT_EQ(incident.xid, 31U);
  EXPECT_EQ(incident.device, "GPU-1");
  ASSERT_EQ(incident.holders.size(), 2U);
  EXPECT_EQ(incident.holders[0].tenant, "a");
  EXPECT_EQ(incident.holders[0].held_bytes, kGiB);
  EXPECT_EQ(incident.holders[0].seconds.size(), 30U);
  EXPECT_EQ(incident.holders[0].seconds[10].launches, 4U);
  EXPECT_EQ(incident.holders[0].seconds[10].gpu_ms, 400U);
}

TEST_F(RecorderTest, AMinuteIsKeptHoweverLongItRuns) {
  pass(300s, [&] { ++totals(0).launches; });
  refuse(0, kGiB);
  const auto found = pass(250ms);
  ASSERT_EQ(found.size(), 1U);
  const auto& seconds = found[0].victim()->seconds;
  EXPECT_GE(seconds.size(), 59U);
  EXPECT_LE(seconds.size(), 60U);
  EXPECT_LE(encode(found[0]).size(), std::size_t{128} << 10U);
}

TEST_F(RecorderTest, TheRingsAreBounded) {
  node.tenants.clear();
  for (std::size_t i = 0; i < kMostTracks / 16 + 40; ++i) {
    node.tenants.push_back(
        {.id = std::to_string(i),
         .resource = "r",
         .by_limit = {},
         .by_driver = {},
         .devices = std::vector<DeviceReading>(
             16, {.device = "GPU-1", .limit_bytes = {}, .totals = {}, .busy_since = {}})});
  }
  sample();
  EXPECT_EQ(recorder.tracks(), kMostTracks);
  node.tenants.back().refused = 1;
  node.tenants.back().by_limit = {.asked = 1, .at = now + 100ms};
  EXPECT_EQ(pass(250ms).size(), 1U) << "also of one that has no ring";
  node.tenants.clear();
  sample();
  EXPECT_EQ(recorder.tracks(), 0U);
}

}  // namespace
}  // namespace tranche::incidents::recorder_test
