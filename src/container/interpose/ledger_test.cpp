#include "interpose/ledger.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

namespace tranche::interpose::ledger_test {
namespace {

using namespace limit::wire;

constexpr std::uint64_t kMiB = 1U << 20U;

// What the arbiter makes, here shared with the children of this process.
struct Tenant {
  PolicyPage policy{};
  UsageFile usage{};
  // The true sum, kept by those who were granted something: never more than what they hold. In one
  // word, because a sum over several matches no single moment.
  std::atomic<std::uint64_t> granted{0};
  std::atomic<std::uint64_t> excess{0};  // granted beyond the limit, at most
  std::atomic<std::uint64_t> charges{0};
};

class LedgerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    void* memory =
        mmap(nullptr, sizeof(Tenant), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    tenant = new (memory) Tenant;
    tenant->policy.devices[0].memory_limit = 100 * kMiB;
    tenant->usage.slots = 8;
  }
  void TearDown() override { munmap(tenant, sizeof(Tenant)); }

  Ledger ledger(unsigned slot) { return {tenant->policy, tenant->usage, slot}; }

  Tenant* tenant = nullptr;
};

TEST_F(LedgerTest, GrantsUpToTheLimitAndNoByteMore) {
  Ledger one = ledger(0);
  Ledger two = ledger(1);
  EXPECT_TRUE(one.charge(0, 60 * kMiB));
  EXPECT_FALSE(two.charge(0, 40 * kMiB + 1));
  EXPECT_TRUE(two.charge(0, 40 * kMiB));
  EXPECT_FALSE(one.charge(0, 1));
  EXPECT_EQ(one.held(0), 100 * kMiB);
  EXPECT_EQ(tenant->usage.slot[0].refused, 1U);
  EXPECT_EQ(tenant->usage.slot[1].refused, 1U);
  one.release(0, 60 * kMiB);
  EXPECT_TRUE(two.charge(0, 60 * kMiB));
}

TEST_F(LedgerTest, DevicesAreApart) {
  tenant->policy.devices[1].memory_limit = kMiB;
  Ledger one = ledger(0);
  EXPECT_TRUE(one.charge(0, 100 * kMiB));
  EXPECT_TRUE(one.charge(1, kMiB));
  EXPECT_FALSE(one.charge(1, 1));
}

TEST_F(LedgerTest, WhatIsSeenOutsideTheSlotsCounts) {
  tenant->policy.devices[0].outside = 90 * kMiB;
  Ledger one = ledger(0);
  EXPECT_FALSE(one.charge(0, 11 * kMiB));
  EXPECT_TRUE(one.charge(0, 10 * kMiB));
}

TEST_F(LedgerTest, AHugeSizeDoesNotWrapAround) {
  Ledger one = ledger(0);
  EXPECT_TRUE(one.charge(0, kMiB));
  EXPECT_FALSE(one.charge(0, kNoLimit));
  EXPECT_FALSE(one.charge(0, kNoLimit - kMiB + 1));
  EXPECT_EQ(one.held(0), kMiB);
}

TEST_F(LedgerTest, WithoutALimitItOnlyCounts) {
  tenant->policy.devices[0].memory_limit = kNoLimit;
  Ledger one = ledger(0);
  EXPECT_TRUE(one.charge(0, 1000 * kMiB));
  EXPECT_EQ(one.held(0), 1000 * kMiB);
}

TEST_F(LedgerTest, ALimitThatIsLoweredBelowWhatIsHeldRefusesAndTakesNothing) {
  Ledger one = ledger(0);
  EXPECT_TRUE(one.charge(0, 80 * kMiB));
  tenant->policy.devices[0].memory_limit = 50 * kMiB;
  EXPECT_FALSE(one.charge(0, 1));
  EXPECT_EQ(one.held(0), 80 * kMiB);
}

// Writing such a number harms only the writer's own tenant, and gains nothing.
TEST_F(LedgerTest, AForgedChargeMakesNoRoom) {
  ASSERT_TRUE(ledger(0).charge(0, 90 * kMiB));
  tenant->usage.slot[1].charged[0] = ~std::uint64_t{0} - 60 * kMiB;
  EXPECT_FALSE(ledger(0).charge(0, 20 * kMiB));
  EXPECT_GT(ledger(0).held(0), 100 * kMiB);
  tenant->usage.slot[2].charged[0] = std::uint64_t{1} << 63U;
  tenant->usage.slot[3].charged[0] = std::uint64_t{1} << 63U;
  EXPECT_FALSE(ledger(0).charge(0, 20 * kMiB));
  tenant->policy.devices[0].outside = ~std::uint64_t{0} - kMiB;
  EXPECT_FALSE(ledger(0).charge(0, 20 * kMiB));
}

TEST_F(LedgerTest, ASpoiltNumberOfSlotsStaysInTheFile) {
  tenant->usage.slots = 1U << 30U;
  EXPECT_EQ(ledger(0).held(0), 0U);
}

// One process of the tenant: charges and releases at random until told to end.
[[noreturn]] void churn(Tenant& tenant, unsigned slot, unsigned rounds) {
  Ledger ledger(tenant.policy, tenant.usage, slot);
  tenant.usage.slot[slot].inner_pid = static_cast<std::uint32_t>(getpid());
  std::minstd_rand random(slot * 7919 + static_cast<unsigned>(getpid()));
  std::vector<std::uint64_t> held;
  const std::uint64_t limit = tenant.policy.devices[0].memory_limit;
  for (unsigned i = 0; i < rounds; ++i) {
    if (held.empty() || random() % 2 == 0) {
      const std::uint64_t bytes = 1 + random() % (40 * kMiB);
      if (!ledger.charge(0, bytes)) continue;
      tenant.charges.fetch_add(1);
      const std::uint64_t sum = tenant.granted += bytes;
      if (sum > limit) tenant.excess = std::max<std::uint64_t>(tenant.excess, sum - limit);
      held.push_back(bytes);
    } else {
      const std::uint64_t bytes = held.back();
      held.pop_back();
      tenant.granted -= bytes;
      ledger.release(0, bytes);
    }
  }
  for (const std::uint64_t bytes : held) {
    tenant.granted -= bytes;
    ledger.release(0, bytes);
  }
  _exit(0);
}

// TRANCHE_SOAK=1: ten million in all.
unsigned rounds() { return std::getenv("TRANCHE_SOAK") != nullptr ? 2'500'000 : 30'000; }

TEST_F(LedgerTest, EightProcessesNeverHoldMoreThanTheLimit) {
  std::array<pid_t, 8> children{};
  for (unsigned i = 0; i < children.size(); ++i) {
    children[i] = fork();
    if (children[i] == 0) churn(*tenant, i, rounds());
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(tenant->excess, 0U);
  EXPECT_GT(tenant->charges, rounds());
  EXPECT_EQ(ledger(0).held(0), 0U) << "nothing leaks";
}

// A process killed at any instruction leaves what its own slot says; clearing that is sufficient.
TEST_F(LedgerTest, KilledProcessesLeaveNothingOnceTheirSlotsAreCleared) {
  std::minstd_rand random(1);
  const int kills = std::getenv("TRANCHE_SOAK") != nullptr ? 3000 : 150;
  for (int i = 0; i < kills; ++i) {
    std::array<pid_t, 4> children{};
    for (unsigned slot = 0; slot < children.size(); ++slot) {
      children[slot] = fork();
      if (children[slot] == 0) churn(*tenant, slot, slot == 0 ? 2'000 : ~0U);
    }
    usleep(static_cast<useconds_t>(random() % 3000));
    for (unsigned slot = 1; slot < children.size(); ++slot) kill(children[slot], SIGKILL);
    // The first continues next to what the others left.
    for (unsigned slot = 1; slot < children.size(); ++slot) {
      ASSERT_EQ(waitpid(children[slot], nullptr, 0), children[slot]);
    }
    ASSERT_EQ(waitpid(children[0], nullptr, 0), children[0]);
    for (auto& slot : tenant->usage.slot) slot.charged[0] = 0;  // what the arbiter does
    tenant->granted = 0;
    ASSERT_EQ(tenant->excess, 0U);
    ASSERT_EQ(ledger(0).held(0), 0U);
    ASSERT_TRUE(ledger(0).charge(0, 100 * kMiB)) << "all of it can be had again";
    ledger(0).release(0, 100 * kMiB);
  }
}

// What fits is granted each time, however often others ask for too much.
TEST_F(LedgerTest, WhoAsksForTooMuchTakesNothingFromItsSiblings) {
  ASSERT_TRUE(ledger(0).charge(0, 60 * kMiB));
  std::array<pid_t, 4> probers{};
  for (unsigned i = 0; i < probers.size(); ++i) {
    probers[i] = fork();
    if (probers[i] == 0) {
      while (!ledger(i + 2).charge(0, 50 * kMiB)) {
      }
      _exit(1);
    }
  }
  Ledger mine = ledger(1);
  unsigned refused = 0;
  for (unsigned i = 0; i < 10 * rounds(); ++i) {
    if (mine.charge(0, 30 * kMiB)) {
      mine.release(0, 30 * kMiB);
    } else {
      ++refused;
    }
  }
  EXPECT_EQ(refused, 0U) << "of " << 10 * rounds();
  for (const pid_t prober : probers) {
    kill(prober, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(prober, &status, 0), prober);
    EXPECT_TRUE(WIFSIGNALED(status)) << "it was granted what does not fit";
  }
}

// A sibling's charge that is in its word for a moment and is withdrawn each time.
TEST_F(LedgerTest, AChargeThatIsWithdrawnTakesNothingFromASibling) {
  const pid_t child = fork();
  if (child == 0) {
    Slot& slot = tenant->usage.slot[1];
    slot.inner_pid = static_cast<std::uint32_t>(getpid());
    for (std::uint8_t told = 0;; told += 2) {
      slot.deciding[7] = told + 1U;
      slot.charged[0] += 60 * kMiB;
      sched_yield();
      slot.charged[0] -= 60 * kMiB;
      slot.deciding[7] = told + 2U;
      sched_yield();
    }
  }
  Ledger mine = ledger(0);
  unsigned refused = 0;
  for (unsigned i = 0; i < rounds(); ++i) {
    if (mine.charge(0, 50 * kMiB)) {
      mine.release(0, 50 * kMiB);
    } else {
      ++refused;
    }
  }
  kill(child, SIGKILL);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_EQ(refused, 0U) << "of " << rounds();
}

TEST_F(LedgerTest, WhatAnEndedProcessWasDecidingIsNotWaitedFor) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  Slot& slot = tenant->usage.slot[1];
  slot.inner_pid = static_cast<std::uint32_t>(child);
  slot.charged[0] = 60 * kMiB;
  slot.deciding[7] = 1;
  EXPECT_FALSE(ledger(0).charge(0, 50 * kMiB));
  EXPECT_TRUE(ledger(0).charge(0, 40 * kMiB));
}

// Threads without a place in the slot count in the word.
TEST_F(LedgerTest, MoreThreadsThanPlacesChargeAndGiveBack) {
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < kDeciders + 20; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 1000; ++round) {
        if (ledger(0).charge(0, 2 * kMiB)) ledger(0).release(0, 2 * kMiB);
      }
    });
  }
  threads.clear();
  EXPECT_EQ(tenant->usage.slot[0].charged[0], 0U);
  for (const Byte& deciding : tenant->usage.slot[0].deciding) EXPECT_EQ(deciding % 2, 0);
  EXPECT_TRUE(ledger(1).charge(0, 100 * kMiB));
}

// Of two that want the same last bytes exactly one gets them, each time.
TEST_F(LedgerTest, OfTwoThatRaceForTheLastBytesOneGetsThem) {
  auto* turn = new (mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
      std::atomic<int>[4]{};
  const pid_t child = fork();
  const int rounds = 3000;
  const auto play = [&](unsigned slot) {
    Ledger mine = ledger(slot);
    int wins = 0;
    for (int i = 1; i <= rounds; ++i) {
      turn[slot] = i;
      while (turn[1 - slot] < i) sched_yield();
      const bool won = mine.charge(0, 60 * kMiB);
      wins += won ? 1 : 0;
      turn[2 + slot] = i;
      while (turn[3 - slot] < i) sched_yield();
      if (won) mine.release(0, 60 * kMiB);
    }
    return wins;
  };
  if (child == 0) {
    tenant->granted = static_cast<std::uint64_t>(play(1));
    _exit(0);
  }
  const auto wins = static_cast<std::uint64_t>(play(0));
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_GE(wins + tenant->granted, static_cast<std::uint64_t>(rounds));
}

}  // namespace
}  // namespace tranche::interpose::ledger_test
