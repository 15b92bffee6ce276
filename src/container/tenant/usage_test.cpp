#include "tenant/usage.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

namespace tranche::tenant::usage_test {
namespace {

using namespace limit;

constexpr ProcessId kOne{100, 7};
constexpr ProcessId kTwo{200, 8};

class UsageTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/tranche-usage-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    dir = name;
  }
  void TearDown() override { std::filesystem::remove_all(dir); }

  // The next arbiter's, to which a process of the tenant hands over what it holds.
  Usage next(int memory) {
    Usage usage = open();
    const auto taken = usage.take_over(ForeignDescriptor(dup(memory)));
    EXPECT_TRUE(taken) << taken.error().message();
    return usage;
  }
  Usage open() {
    auto usage = Usage::open(dir, "t", 2);
    EXPECT_TRUE(usage) << usage.error().message();
    return *std::move(usage);
  }
  // The file as the tenant sees it.
  static wire::UsageFile& map(const Usage& usage) {
    void* memory =
        mmap(nullptr, sizeof(wire::UsageFile), PROT_READ | PROT_WRITE, MAP_SHARED, usage.fd(), 0);
    EXPECT_NE(memory, MAP_FAILED);
    return *static_cast<wire::UsageFile*>(memory);
  }

  std::filesystem::path dir;
};

TEST_F(UsageTest, GivesEachProcessASlotAndTheSameOneAgain) {
  Usage usage = open();
  EXPECT_EQ(usage.take(kOne), 0U);
  EXPECT_EQ(usage.take(kTwo), 1U);
  EXPECT_EQ(usage.take(kOne), 0U);
  const wire::UsageFile& seen = map(usage);
  EXPECT_EQ(seen.magic, wire::kUsageMagic);
  EXPECT_EQ(seen.slots, 2U);
}

TEST_F(UsageTest, WhatNobodyCanHoldIsNotInTheSum) {
  Usage usage = open();
  wire::UsageFile& tenant = map(usage);
  ASSERT_EQ(usage.take(kOne), 0U);
  ASSERT_EQ(usage.take(kTwo), 1U);
  tenant.slot[0].charged[0] = ~std::uint64_t{0} - 5;
  tenant.slot[1].charged[0] = 3;
  EXPECT_EQ(usage.charged(0), 3U);
  tenant.slot[0].charged[0] = 3 * wire::kUndecided + 77;
  EXPECT_EQ(usage.charged(0), 80U) << "what is being decided is no bytes";
  EXPECT_EQ(usage.summary(0).charged[0], 77U);
}

TEST_F(UsageTest, WhatAProcessLetGoOfIsChargedAndNotKept) {
  Usage usage = open();
  wire::Slot& slot = map(usage).slot[0];
  ASSERT_EQ(usage.take(kOne), 0U);
  slot.charged[0] = 5 * wire::kReleasedUnit;
  slot.work[0].released = 2;
  EXPECT_EQ(usage.charged(0), 5 * wire::kReleasedUnit);
  EXPECT_EQ(usage.kept(0)[0], 3 * wire::kReleasedUnit);
  EXPECT_EQ(usage.released(0), 2 * wire::kReleasedUnit);
  slot.work[0].released = ~std::uint32_t{0};
  EXPECT_EQ(usage.kept(0)[0], 0U) << "more than there is";
  EXPECT_EQ(usage.released(0), 5 * wire::kReleasedUnit);
  slot.charged[0] = wire::kMostCharged + 1;
  EXPECT_EQ(usage.kept(0)[0], wire::kMostCharged + 1) << "forged: the arbiter is to see it";
  usage.release(kOne);
  ASSERT_EQ(usage.take(kTwo), 0U);
  EXPECT_EQ(map(usage).slot[0].work[0].released, 0U);
}

TEST_F(UsageTest, WhatFailedIsToldAndGoneWithItsProcess) {
  Usage usage = open();
  wire::Slot& slot = map(usage).slot[0];
  ASSERT_EQ(usage.take(kOne), 0U);
  EXPECT_EQ(usage.summary(0).last_refused, Usage::Failure()) << "as an older library leaves it";
  slot.failures.refused_asked = wire::asked_word(1, 5000);
  slot.failures.refused_held = 70;
  slot.failures.refused_at = 9;
  slot.failures.driver_refused = 3;
  slot.failures.driver_asked = wire::asked_word(0, ~std::uint64_t{0});
  slot.failures.driver_at = 10;
  const auto summary = usage.summary(0);
  EXPECT_EQ(summary.last_refused, (Usage::Failure{1, 5000, 70, 9}));
  EXPECT_EQ(summary.last_driver_refused, (Usage::Failure{0, wire::kUndecided - 1, 0, 10}));
  EXPECT_EQ(summary.driver_refused, 3U);
  usage.release(kOne);
  ASSERT_EQ(usage.take(kTwo), 0U);
  EXPECT_EQ(usage.summary(0).last_refused, Usage::Failure());
  EXPECT_EQ(usage.summary(0).driver_refused, 0U);
}

TEST_F(UsageTest, AProcessMovesToAFreeSlot) {
  Usage usage = open();
  ASSERT_EQ(usage.take(kOne), 0U);
  EXPECT_EQ(usage.move(kOne, 5), 5U);
  EXPECT_EQ(map(usage).slots, 6U);
  EXPECT_EQ(usage.take(kTwo), 0U) << "the slot that it had is free";
  EXPECT_EQ(usage.move(kTwo, 5), 0U) << "another has it";
  EXPECT_EQ(usage.move(kTwo, wire::kMaxProcesses), 0U);
  EXPECT_EQ(usage.move(kOne, 5), 5U);
  EXPECT_EQ(usage.owners(), (std::vector{kTwo, kOne}));
}

TEST_F(UsageTest, WhatADeadProcessHeldIsNobodysExactlyOnce) {
  Usage usage = open();
  wire::UsageFile& tenant = map(usage);
  ASSERT_EQ(usage.take(kOne), 0U);
  ASSERT_EQ(usage.take(kTwo), 1U);
  tenant.slot[0].charged[1] = 10;
  tenant.slot[1].charged[1] = 20;
  EXPECT_EQ(usage.charged(1), 30U);
  const auto generation = usage.generation(0);
  EXPECT_EQ(usage.release(kOne), true);
  EXPECT_EQ(usage.charged(1), 20U);
  EXPECT_EQ(tenant.slot[0].charged[1], 0U);
  EXPECT_EQ(usage.release(kOne), false);
  EXPECT_EQ(usage.take({100, 9}), 0U) << "the pid again, another process";
  EXPECT_GT(usage.generation(0), generation);
}

TEST_F(UsageTest, TheNextArbiterFindsWhatWasHeldAndByWhom) {
  Descriptor held;
  {
    Usage usage = open();
    ASSERT_EQ(usage.take(kOne), 0U);
    ASSERT_EQ(usage.take(kTwo), 1U);
    map(usage).slot[1].charged[0] = 77;
    held = Descriptor(dup(usage.fd()));
  }
  Usage usage = open();
  EXPECT_TRUE(usage.awaits_file());
  EXPECT_EQ(usage.owners(), (std::vector{kOne, kTwo}));
  EXPECT_EQ(usage.charged(0), 0U) << "not known yet";
  EXPECT_TRUE(usage.may_hand_over(kTwo));
  EXPECT_FALSE(usage.may_hand_over({300, 9}));
  ASSERT_TRUE(usage.take_over(ForeignDescriptor(dup(held.get()))));
  EXPECT_FALSE(usage.awaits_file());
  EXPECT_EQ(usage.charged(0), 77U);
  EXPECT_EQ(usage.take(kTwo), 1U);
  EXPECT_EQ(map(usage).slot[1].charged[0], 77U);
  EXPECT_EQ(usage.release(kOne), true);
}

TEST_F(UsageTest, WhoEndedOrCameMeanwhileHoldsNothingInTheMemoryThatIsHandedOver) {
  Descriptor held;
  wire::UsageFile* tenant = nullptr;
  {
    Usage usage = open();
    ASSERT_EQ(usage.take(kOne), 0U);
    ASSERT_EQ(usage.take(kTwo), 1U);
    tenant = &map(usage);
    for (wire::Slot& slot : std::span(tenant->slot).first(2)) slot.charged[0] = 50;
    held = Descriptor(dup(usage.fd()));
  }
  Usage usage = open();
  EXPECT_EQ(usage.release(kOne), true);
  constexpr ProcessId kThree{300, 9};
  ASSERT_EQ(usage.take(kThree), 0U);
  ASSERT_TRUE(usage.take_over(ForeignDescriptor(dup(held.get()))));
  EXPECT_EQ(usage.charged(0), 50U);
  EXPECT_EQ(tenant->slot[0].charged[0], 0U);
  EXPECT_EQ(tenant->slot[0].generation, usage.generation(0));
}

TEST_F(UsageTest, OnlyTheMemoryOfTheTenantIsTakenOver) {
  {
    Usage usage = open();
    ASSERT_EQ(usage.take(kOne), 0U);
  }
  Usage usage = open();
  auto other = SealedMemory::create("other", sizeof(wire::UsageFile));
  ASSERT_TRUE(other);
  const Descriptor unsealed(memfd_create("unsealed", MFD_CLOEXEC));
  ASSERT_EQ(ftruncate(unsealed.get(), sizeof(wire::UsageFile)), 0);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  for (const int fd : {other->fd(), unsealed.get(), ends[0]}) {
    const auto taken = usage.take_over(ForeignDescriptor(dup(fd)));
    ASSERT_FALSE(taken);
    EXPECT_EQ(taken.error().code, Code::kInvalidArgument);
  }
  EXPECT_TRUE(usage.awaits_file());
  ASSERT_TRUE(usage.give_up());
  EXPECT_FALSE(usage.awaits_file());
  EXPECT_EQ(usage.take(kOne), 0U);
  EXPECT_EQ(map(usage).slot[0].generation, usage.generation(0));
  close(ends[0]);
  close(ends[1]);
}

// The next arbiter asks for the memory that was given out last.
TEST_F(UsageTest, WhatWasGivenUpIsNotTakenOverLater) {
  Descriptor first;
  Descriptor second;
  {
    Usage usage = open();
    ASSERT_EQ(usage.take(kOne), 0U);
    first = Descriptor(dup(usage.fd()));
  }
  {
    Usage usage = open();
    ASSERT_TRUE(usage.give_up());
    second = Descriptor(dup(usage.fd()));
  }
  Usage usage = open();
  EXPECT_FALSE(usage.take_over(ForeignDescriptor(dup(first.get()))));
  EXPECT_TRUE(usage.take_over(ForeignDescriptor(dup(second.get()))));
}

TEST_F(UsageTest, NobodyIsLeftWhoCouldHandItOver) {
  {
    Usage usage = open();
    ASSERT_EQ(usage.take(kOne), 0U);
    ASSERT_EQ(usage.take(kTwo), 1U);
  }
  Usage usage = open();
  EXPECT_TRUE(usage.somebody_may_hand_over());
  usage.came_without(kOne);
  EXPECT_TRUE(usage.somebody_may_hand_over());
  EXPECT_EQ(usage.release(kTwo), true);
  EXPECT_FALSE(usage.somebody_may_hand_over());
}

TEST_F(UsageTest, ReadsWhatIsNewInTheRing) {
  Usage usage = open();
  ASSERT_EQ(usage.take(kOne), 0U);
  wire::Slot& slot = map(usage).slot[0];
  const auto write = [&](std::uint64_t begin, std::uint32_t device) {
    slot.work[device % wire::kMaxDevices].asked_ns += 4;
    slot.ring[slot.written % wire::kRing] = {begin, begin + 5, device, 1, 4};
    slot.written += 1;
    slot.work[device % wire::kMaxDevices].measured_ns += 5;
    slot.work[device % wire::kMaxDevices].ended_ns += 4;
  };
  write(10, 0);
  write(20, 1);
  auto reading = usage.read(0);
  ASSERT_EQ(reading.intervals.size(), 2U);
  EXPECT_EQ(reading.intervals[1].begin, 20U);
  EXPECT_TRUE(usage.read(0).intervals.empty());
  for (std::uint64_t i = 0; i < wire::kRing + 3; ++i) write(100 + i, 0);
  reading = usage.read(0);
  EXPECT_EQ(reading.lost, 3U);
  ASSERT_EQ(reading.intervals.size(), wire::kRing + 1);
  EXPECT_EQ(reading.intervals[1].begin, 103U);
  const wire::Interval& lost = reading.intervals[0];
  EXPECT_EQ(lost.end, 103U);
  EXPECT_EQ(lost.end - lost.begin, 15U) << "what three measured";
  EXPECT_EQ(lost.asked_ns, 12U);
  write(1, wire::kMaxDevices);
  EXPECT_TRUE(usage.read(0).intervals.empty()) << "no such device";
}

TEST_F(UsageTest, TellsWhatWasAskedForAndHasNotEnded) {
  Descriptor held;
  {
    Usage usage = open();
    ASSERT_EQ(usage.take(kOne), 0U);
    held = Descriptor(dup(usage.fd()));
    wire::Slot& slot = map(usage).slot[0];
    slot.work[0].asked_ns = 100;
    slot.ring[0] = {10, 20, 0, 1, 30};
    slot.written = 1;
    slot.work[0].ended_ns = 30;
    EXPECT_EQ(usage.read(0).unfinished, (std::vector<std::uint64_t>{70, 0}));
    slot.work[1].asked_ns = wire::kNoLimit;
    EXPECT_EQ(usage.read(0).unfinished, (std::vector<std::uint64_t>{70, kMostUnfinished}));
  }
  Usage next = this->next(held.get());
  EXPECT_EQ(next.read(0).unfinished[0], 70U) << "the next arbiter's";
  EXPECT_EQ(next.release(kOne), true);
  ASSERT_EQ(next.take(kTwo), 0U);
  EXPECT_EQ(next.read(0).unfinished[0], 0U);
}

// The memory is the tenant's. Nothing that it writes breaks the arbiter, or costs the node memory.
TEST_F(UsageTest, ATenantCanOnlyWriteNonsense) {
  Usage usage = open();
  ASSERT_EQ(usage.take(kOne), 0U);
  wire::UsageFile& tenant = map(usage);
  tenant.slot[0].written = ~std::uint64_t{0};
  EXPECT_LE(usage.read(0).intervals.size(), wire::kRing);
  tenant.slot[0].written = 0;
  EXPECT_TRUE(usage.read(0).intervals.empty());
  tenant.slots = ~0U;
  tenant.version = 9;
  ASSERT_EQ(usage.take(kTwo), 1U);
  EXPECT_LE(tenant.slots, wire::kMaxProcesses);
  EXPECT_EQ(tenant.version, wire::kVersion);
  constexpr off_t kSize = sizeof(wire::UsageFile);
  EXPECT_NE(ftruncate(usage.fd(), 0), 0);
  EXPECT_NE(ftruncate(usage.fd(), kSize + 1), 0);
  EXPECT_NE(posix_fallocate(usage.fd(), kSize, 4096), 0);
  EXPECT_NE(pwrite(usage.fd(), "x", 1, kSize), 1);
  ASSERT_EQ(fchmod(usage.fd(), 0), 0) << "and nobody opens it by its name";
  EXPECT_EQ(usage.release(kOne), true);
}

TEST_F(UsageTest, AllSlotsTakenIsSaid) {
  Usage usage = open();
  for (unsigned i = 0; i < wire::kMaxProcesses; ++i) {
    ASSERT_EQ(usage.take({static_cast<pid_t>(i + 1), 1}), i);
  }
  const auto none = usage.take({5000, 1});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kUnavailable);
}

// Its processes register again and report what they hold.
TEST_F(UsageTest, AnotherReleasesRecordIsWrittenAnew) {
  std::ofstream(dir / "t.slots") << std::string(100, 'x');
  Usage usage = open();
  EXPECT_FALSE(usage.awaits_file());
  EXPECT_TRUE(usage.owners().empty());
  ASSERT_EQ(usage.take(kOne), 0U);
  EXPECT_TRUE(open().awaits_file());
}

TEST_F(UsageTest, RemovedFilesAreGone) {
  {
    open();
  }
  Usage::remove(dir, "t");
  EXPECT_TRUE(std::filesystem::is_empty(dir));
}

}  // namespace
}  // namespace tranche::tenant::usage_test
