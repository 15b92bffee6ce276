#include "limit/apportion.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace tranche::limit {
namespace {

constexpr TenantId kA{1};
constexpr TenantId kB{2};
constexpr TenantId kC{3};
using Charges = ByTenant<Ns>;

TEST(Apportioner, AloneATenantIsChargedWhatItUsed) {
  Apportioner whose(Ns{0});
  whose.finished(kA, {Ns{10}, Ns{30}});
  EXPECT_EQ(whose.close(Ns{100}), (Charges{{kA, Ns{20}}}));
  EXPECT_EQ(whose.close(Ns{200}), Charges{});
}

TEST(Apportioner, OverlappingPairsShareEqually) {
  for (const Ns unit : {Ns{2}, Apportioner::kSlice}) {
    Apportioner whose(Ns{0});
    whose.finished(kA, {0 * unit, 6 * unit});
    whose.finished(kB, {3 * unit, 9 * unit});
    EXPECT_EQ(whose.close(10 * unit), (Charges{{kA, 9 * unit / 2}, {kB, 9 * unit / 2}}))
        << unit.count();
  }
}

TEST(Apportioner, ATenantsOwnPairsCountOnce) {
  Apportioner whose(Ns{0});
  whose.finished(kA, {Ns{0}, Ns{50}});
  whose.finished(kA, {Ns{20}, Ns{60}});
  whose.finished(kA, {Ns{70}, Ns{70}});
  whose.finished(kA, {Ns{90}, Ns{80}});
  EXPECT_EQ(whose.close(Ns{100}), (Charges{{kA, Ns{60}}}));
}

TEST(Apportioner, WhatReachesBeyondTheCloseIsChargedInTwoParts) {
  Apportioner whose(Ns{0});
  whose.finished(kA, {Ns{10}, Ns{30}});
  EXPECT_EQ(whose.close(Ns{20}), (Charges{{kA, Ns{10}}}));
  EXPECT_EQ(whose.close(Ns{100}), (Charges{{kA, Ns{10}}}));
}

TEST(Apportioner, AKernelThatIsStillRunningIsNotPaidForByItsNeighbour) {
  Apportioner whose(Ns{0});
  whose.busy(kA, Ns{0});
  whose.busy(kB, Ns{0});
  EXPECT_EQ(whose.close(Ns{100}), (Charges{{kA, Ns{50}}, {kB, Ns{50}}}));
  whose.finished(kA, {Ns{0}, Ns{120}});
  whose.busy(kA, std::nullopt);
  whose.busy(kB, std::nullopt);
  EXPECT_EQ(whose.close(Ns{200}), (Charges{{kA, Ns{20}}}));
}

TEST(Apportioner, AShortPairInsideALongOneIsItsOwn) {
  constexpr Ns kLong = 3 * Apportioner::kSlice;
  Apportioner whose(Ns{0});
  whose.finished(kA, {Ns{0}, kLong});
  whose.finished(kB, {Ns{100}, Ns{300}});
  whose.busy(kC, Ns{0});
  const Ns rest = (kLong - Ns{200}) / 2;
  EXPECT_EQ(whose.close(kLong), (Charges{{kA, rest}, {kB, Ns{200}}, {kC, rest}}));
}

TEST(Apportioner, WhatIsToldLateGetsOnlyWhatNobodyWasChargedFor) {
  Apportioner whose(Ns{0});
  whose.finished(kA, {Ns{0}, Ns{50}});
  whose.close(Ns{100});
  whose.finished(kB, {Ns{20}, Ns{80}});
  EXPECT_EQ(whose.close(Ns{100}), (Charges{{kB, Ns{30}}}));
  whose.finished(kC, {Ns{60}, Ns{120}});
  EXPECT_EQ(whose.close(Ns{130}), (Charges{{kC, Ns{40}}}));
}

TEST(Apportioner, UnclaimedTimeIsForgottenAfterAWhile) {
  Apportioner whose(Ns{0});
  whose.close(Ns{100});
  whose.close(Ns{100} + Apportioner::kMemory);
  whose.finished(kA, {Ns{0}, Ns{100}});
  EXPECT_EQ(whose.close(whose.closed()), Charges{});
}

TEST(Apportioner, TimeDoesNotGoBack) {
  Apportioner whose(Ns{50});
  EXPECT_EQ(whose.close(Ns{20}), Charges{});
  EXPECT_EQ(whose.closed(), Ns{50});
}

RC_GTEST_PROP(Apportioner, ChargesNeverExceedTheTimeNorWhatATenantTold, ()) {
  Apportioner whose(Ns{0});
  ByTenant<Ns> told;
  ByTenant<Ns> charged;
  Ns now{0};
  const int steps = *rc::gen::inRange(1, 60);
  for (int i = 0; i < steps; ++i) {
    const TenantId tenant{*rc::gen::inRange<std::uint32_t>(0, 4)};
    const Ns begin{*rc::gen::inRange(0, 2000)};
    const Stretch stretch{begin, begin + Ns{*rc::gen::inRange(-5, 300)}};
    whose.finished(tenant, stretch);
    told[tenant] += stretch.length();
    if (*rc::gen::inRange(0, 3) == 0) {
      now += Ns{*rc::gen::inRange(0, 400)};
      for (const auto& [who, part] : whose.close(now)) charged[who] += part;
    }
    Ns sum{0};
    for (const auto& [who, part] : charged) {
      RC_ASSERT(part <= told[who]);
      sum += part;
    }
    RC_ASSERT(sum <= now);
  }
}

}  // namespace
}  // namespace tranche::limit
