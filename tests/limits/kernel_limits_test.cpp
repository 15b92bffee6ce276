// Memory that the kernel limits, through the arbiter: real sockets and pages; a driver, a /proc and
// a tree of control groups that the test writes. The processes are this one, registered as several
// tenants, and a stranger that /proc describes.

#include "arbiter/kernel/kernel_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "limits/kernel_limits_node.h"

namespace tranche::arbiter::kernel_limits_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_F(KernelLimitsTest, TheContainerIsLimitedBeforeItsFirstProcessIsAnswered) {
  promise("a", 100);
  limiter->hang(kGpu);
  Library library = hello("a");
  wait_for_calls(1);
  rounds();
  EXPECT_FALSE(is_answered(library));
  limiter->release();
  receive(library);
  EXPECT_EQ(limit_of(library), 100U);
  EXPECT_THAT(limiter->calls(), ElementsAre(set_to(100)));
  EXPECT_THAT(degraded(), IsEmpty());
}

TEST_F(KernelLimitsTest, OneCallForAContainerHoweverManyProcessesAndSeconds) {
  promise("a", 100);
  registered("a");
  registered("a");
  for (int i = 0; i < 3; ++i) next_second();
  EXPECT_THAT(limiter->calls(), SizeIs(1));
}

TEST_F(KernelLimitsTest, OtherEnforcersAskNothingOfTheDriver) {
  promise("a", 100, kGpu, MemoryEnforcer::kLimiter);
  const Library library = registered("a");
  EXPECT_EQ(limit_of(library), 100U);
  EXPECT_THAT(limiter->calls(), IsEmpty());
}

TEST_F(KernelLimitsTest, AsLongAsTheDriverRefusesThereIsNoMemory) {
  limiter->fail_with({Code::kPermission, "no", "be root"});
  promise("a", 100);
  const Library library = registered("a");
  EXPECT_EQ(limit_of(library), 0U);
  EXPECT_EQ(library.policy->devices[0].memory_view, 100 * kMiB);
  EXPECT_THAT(degraded(), ElementsAre(Degraded::kKernelLimitFailed));
  pass_seconds_until([&] { return limiter->calls().size() == 2; });
  rounds();
  EXPECT_EQ(limit_of(library), 0U);
  EXPECT_EQ(log.count("the kernel does not limit its memory of GPU-0011"), 1);
  limiter->recover();
  pass_seconds_until([&] { return limit_of(library) != 0; });
  EXPECT_EQ(limit_of(library), 100U);
  EXPECT_THAT(limiter->calls(), SizeIs(3));
  EXPECT_THAT(degraded(), IsEmpty());
  EXPECT_EQ(log.count("the kernel limits its memory of GPU-0011"), 1);
}

TEST_F(KernelLimitsTest, ADriverThatHangsOnOneGpuStallsNobodyOnAnother) {
  promise("a", 100, kGpu);
  promise("b", 200, kOther);
  promise("c", 300, kGpu, MemoryEnforcer::kLimiter);
  limiter->hang(kGpu);
  Library stuck = hello("a");
  wait_for_calls(1);
  EXPECT_EQ(limit_of(registered("b")), 200U);
  EXPECT_EQ(limit_of(registered("c")), 300U);
  EXPECT_FALSE(is_answered(stuck));
  limiter->release();
  receive(stuck);
}

TEST_F(KernelLimitsTest, AChangedLimitIsSetAgain) {
  promise("a", 100);
  const Library library = registered("a");
  promise("a", 60);
  wait_for_calls(2);
  EXPECT_EQ(limit_of(library), 60U);
  EXPECT_EQ(limiter->calls().back(), set_to(60));
  // Nothing is held any more: the kernel's limit goes, too.
  promise("a", 60, kGpu, MemoryEnforcer::kKernel, Enforcement::kAccount);
  wait_for_calls(3);
  EXPECT_EQ(limiter->calls().back().hard, std::nullopt);
  promise("a", 60);
  wait_for_calls(4);
  // As when another enforcer takes over.
  promise("a", 60, kGpu, MemoryEnforcer::kLimiter);
  wait_for_calls(5);
  EXPECT_EQ(limiter->calls().back().hard, std::nullopt);
}

TEST_F(KernelLimitsTest, AChangeWhileTheDriverIsAskedIsNotLost) {
  promise("a", 100);
  limiter->hang(kGpu);
  Library library = hello("a");
  wait_for_calls(1);
  promise("a", 70);
  rounds();
  EXPECT_THAT(limiter->calls(), SizeIs(1));
  limiter->release();
  receive(library);
  EXPECT_THAT(limiter->calls(), ElementsAre(set_to(100), set_to(70)));
}

TEST_F(KernelLimitsTest, TwoTenantsOfOneContainerHaveTheSum) {
  promise("a", 100);
  promise("b", 30);
  registered("a");
  registered("b");
  EXPECT_THAT(limiter->calls(), ElementsAre(set_to(100), set_to(130)));
  // If one of them has no limit, neither has the container.
  promise("b", 30, kGpu, MemoryEnforcer::kKernel, Enforcement::kAccount);
  wait_for_calls(3);
  EXPECT_EQ(limiter->calls().back().hard, std::nullopt);
}

TEST_F(KernelLimitsTest, TheLimitOutlivesTheProcessAndGoesWithTheContainer) {
  promise("a", 100);
  Library library = registered("a");
  ::close(library.socket);
  rounds();
  promise("a", 50);
  wait_for_calls(2);  // others of the container may still run
  EXPECT_EQ(limiter->calls().back(), set_to(50));
  std::filesystem::remove_all(container());
  next_second();
  promise("a", 40);
  rounds();
  EXPECT_THAT(limiter->calls(), SizeIs(2));
}

TEST_F(KernelLimitsTest, AProcessWhoseGroupIsAnotherOneNowIsLookedForAgain) {
  promise("a", 100);
  const Library library = registered("a");
  std::filesystem::remove_all(container());
  in_cgroup(::getpid(), "/kubepods/podx/" + id_of('b'), "kubepods/podx/" + id_of('b'));
  next_second();
  wait_for_calls(2);
  EXPECT_THAT(limiter->calls(), ElementsAre(set_to(100), set_to(100, kGpu, 'b')));
  // Nowhere: no memory.
  std::filesystem::remove_all(container('b'));
  next_second();
  while (limit_of(library) != 0) arbiter->round(1ms);
  // A later registration is answered all the same.
  EXPECT_EQ(limit_of(registered("a")), 0U);
}

TEST_F(KernelLimitsTest, WhereTheGroupIsNotFoundThereIsNoMemory) {
  std::filesystem::remove_all(cgroups() / "kubepods");
  promise("a", 100);
  const Library library = registered("a");
  EXPECT_EQ(limit_of(library), 0U);
  EXPECT_THAT(degraded(), ElementsAre(Degraded::kKernelLimitFailed));
  EXPECT_THAT(limiter->calls(), IsEmpty());
  in_cgroup(::getpid(), "/kubepods/podx/" + id_of('a'), "kubepods/podx/" + id_of('a'));
  next_second();
  wait_for_calls(1);
  while (limit_of(library) == 0) arbiter->round(1ms);
  EXPECT_THAT(limiter->calls(), ElementsAre(set_to(100)));
}

TEST_F(KernelLimitsTest, WithoutCgroupsOfVersionTwoThereIsNoMemoryAndTheLogSaysSo) {
  std::filesystem::remove(cgroups() / "cgroup.controllers");
  promise("a", 100);
  EXPECT_EQ(limit_of(registered("a")), 0U);
  EXPECT_EQ(log.count("is no tree of cgroup v2"), 1);
}

TEST_F(KernelLimitsTest, AStaticProgramIsHeldWhenTheDriverFirstShowsIt) {
  promise("a", 100);
  const auto folder = fmt::format("/proc/{}", kStranger);
  put(folder + "/stat",
      fmt::format("{} (static) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 777 0 0\n", kStranger));
  put(folder + "/mountinfo",
      "30 1 0:98 / / rw - overlay overlay rw\n"
      "31 30 259:2 /var/lib/tranche/tenants/a /run/tranche/a ro - ext4 /dev/nvme0n1p2 rw\n");
  in_cgroup(kStranger, "/kubepods/podx/" + id_of('b'), "kubepods/podx/" + id_of('b'));
  driver.set(kGpu, {{kStranger, Bytes::from_mib(700)}});
  clock.advance(5s);
  wait_for_calls(1);
  EXPECT_THAT(limiter->calls(), ElementsAre(set_to(100, kGpu, 'b')));
}

TEST_F(KernelLimitsTest, TheNextArbiterLimitsWhatRuns) {
  promise("a", 100);
  registered("a");
  open();
  rounds();
  wait_for_calls(2);
  EXPECT_THAT(limiter->calls(), ElementsAre(set_to(100), set_to(100)));
}

TEST_F(KernelLimitsTest, WhatSomebodyElseChangedIsSetAgainAndTold) {
  promise("a", 100);
  const Library library = registered("a");
  limiter->change(kGpu, container(), Bytes::from_mib(700));
  next_second();
  wait_for_calls(2);
  rounds();
  EXPECT_EQ(limiter->calls().back(), set_to(100));
  EXPECT_EQ(limit_of(library), 100U) << "the limiter's own wall stood all the time";
  EXPECT_EQ(log.count("changed by somebody else, from 100 MiB to 700 MiB"), 1);
  ASSERT_THAT(arbiter->status().findings, SizeIs(1));
  const Finding first = arbiter->status().findings[0];
  EXPECT_EQ(first.kind, Finding::Kind::kKernelLimitChanged);
  EXPECT_EQ(first.tenant, "a");
  EXPECT_EQ(first.device, kGpu);
  EXPECT_EQ(first.cgroup, container());
  // Clearing is repeated, with nothing more in the log while the finding stands. A registration is
  // answered when the last promise is kept: then the driver is not asked any more.
  promise("a", 90);
  registered("a");
  limiter->change(kGpu, container(), {});
  next_second();
  wait_for_calls(4);
  rounds();
  EXPECT_THAT(limiter->calls(), ElementsAre(set_to(100), set_to(100), set_to(90), set_to(90)));
  EXPECT_EQ(log.count("changed by somebody else"), 1);
  EXPECT_GT(arbiter->status().findings[0].since, first.since);
  clock.advance(KernelLimits::kChangeStays);
  EXPECT_THAT(arbiter->status().findings, IsEmpty());
}

TEST_F(KernelLimitsTest, ADriverThatRoundsIsBelieved) {
  limiter->round_to(Bytes::from_mib(64));
  promise("a", 100);
  registered("a");
  for (int i = 0; i < 3; ++i) {
    pass_seconds_until([&] { return limiter->readings() >= 2U + static_cast<unsigned>(i); });
    rounds();
  }
  EXPECT_THAT(limiter->calls(), SizeIs(1));
  EXPECT_THAT(arbiter->status().findings, IsEmpty());
}

TEST_F(KernelLimitsTest, AReadingThatFailsIsNoChange) {
  promise("a", 100);
  const Library library = registered("a");
  limiter->fail_with({Code::kUnavailable, "GPU is lost", ""});
  next_second();
  while (limiter->readings() < 2) arbiter->round(1ms);
  rounds();
  EXPECT_THAT(limiter->calls(), SizeIs(1));
  EXPECT_EQ(limit_of(library), 100U);
  EXPECT_THAT(arbiter->status().findings, IsEmpty());
}

}  // namespace
}  // namespace tranche::arbiter::kernel_limits_test
