#include "limit/lending.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "limit/wire.h"

namespace tranche::limit::lending_test {
namespace {

using Limits = std::vector<std::uint64_t>;
constexpr std::uint64_t kDevice = 64000;  // of which 63000 are lent

MemoryStanding tenant(std::uint64_t promised, std::uint64_t hard, std::uint64_t held = 0) {
  return {.promised = promised, .hard = hard, .held = held, .present = true};
}
MemoryStanding idle(std::uint64_t promised, std::uint64_t hard = 0) {
  return {.promised = promised, .hard = std::max(promised, hard)};
}
Loans lent(std::initializer_list<MemoryStanding> standings, std::uint64_t others = 0) {
  return lend(kDevice, others, std::vector(standings));
}

TEST(Lending, IdleMemoryIsLentUpToTheHardLimit) {
  EXPECT_EQ(lent({tenant(16000, 32000)}).limits, Limits{32000});
  EXPECT_EQ(lent({tenant(16000, kDevice)}).limits, Limits{63000});
  EXPECT_EQ(lent({tenant(16000, 16000)}).limits, Limits{16000});
}

TEST(Lending, APromiseIsReservedOnceItsTenantExists) {
  EXPECT_EQ(lent({tenant(16000, kDevice), idle(32000)}).limits, (Limits{63000, 32000}));
  EXPECT_EQ(lent({tenant(16000, kDevice), tenant(32000, 32000)}).limits, (Limits{31000, 32000}));
}

TEST(Lending, BorrowersShareEquallyAndLeaveTheRestToOthers) {
  EXPECT_EQ(lent({tenant(10000, kDevice), tenant(20000, kDevice)}).limits, (Limits{26500, 36500}));
  EXPECT_EQ(lent({tenant(10000, 12000), tenant(20000, kDevice)}).limits, (Limits{12000, 51000}));
  // Memory that a tenant holds beyond its promise stays its own, and the rest is divided anew.
  EXPECT_EQ(lent({tenant(10000, kDevice, 30000), tenant(20000, kDevice)}).limits,
            (Limits{36500, 26500}));
}

TEST(Lending, OthersAndTenantsWithoutAPromiseAreInTheWay) {
  EXPECT_EQ(lent({tenant(16000, kDevice)}, 20000).limits, Limits{43000});
  EXPECT_EQ(lent({tenant(16000, kDevice), tenant(wire::kNoLimit, wire::kNoLimit, 7000)}).limits,
            (Limits{56000, wire::kNoLimit}));
}

TEST(Lending, ABorrowerGetsNoMoreUntilPromisesAreMet) {
  const auto wanted = lent({tenant(16000, kDevice, 60000), tenant(16000, 16000)});
  EXPECT_EQ(wanted.limits, (Limits{16000, 16000}));
  EXPECT_EQ(wanted.missing, 13000U);
  const auto nearly = lent({tenant(16000, kDevice, 47000), tenant(16000, 16000)});
  EXPECT_EQ(nearly.limits, (Limits{47000, 16000}));
  EXPECT_EQ(nearly.missing, 0U);
}

TEST(Lending, OversubscribedPromisesAreNotLent) {
  const auto loans = lent({tenant(40000, 50000), tenant(40000, 50000)});
  EXPECT_EQ(loans.limits, (Limits{40000, 40000}));
  EXPECT_EQ(loans.missing, 0U);
}

TEST(Lending, NonsenseOfOneTenantLendsNothing) {
  const auto loans = lent({tenant(16000, kDevice), tenant(1, 1, ~0ULL), tenant(1, 1, ~0ULL)});
  EXPECT_EQ(loans.limits, (Limits{16000, 1, 1}));
}

// In every state the limits together fit the device, except for promises and memory already held.
RC_GTEST_PROP(Lending, NeverMoreThanTheDevice,
              (const std::vector<std::array<std::uint16_t, 3>>& raw, std::uint16_t others)) {
  std::vector<MemoryStanding> standings;
  for (const auto& [promised, more, held] : raw) {
    standings.push_back({.promised = promised,
                         .hard = std::uint64_t{promised} + more,
                         .held = held % (std::uint64_t{promised} + more + 1),
                         .present = (promised + held) % 3 != 0});
  }
  const auto loans = lend(kDevice, others, standings);
  std::uint64_t sum = others;
  std::uint64_t least = others;
  for (std::size_t i = 0; i < standings.size(); ++i) {
    const auto& standing = standings[i];
    RC_ASSERT(loans.limits[i] >= standing.promised);
    RC_ASSERT(loans.limits[i] <= std::max(standing.hard, standing.promised));
    const auto needs =
        standing.present ? std::max(standing.promised, standing.held) : standing.held;
    least += needs;
    sum += standing.present ? std::max(loans.limits[i], standing.held) : standing.held;
  }
  RC_ASSERT(sum <= std::max(kDevice, least));
}

}  // namespace
}  // namespace tranche::limit::lending_test
