#include "limit/apportion.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace tranche::limit::apportion_test {
namespace {

constexpr TenantId kA{1};
constexpr TenantId kB{2};
constexpr TenantId kC{3};
using Charges = ByTenant<Ns>;

TEST(Apportioner, ALoneTenantIsChargedItsUse) {
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

TEST(Apportioner, WorkBeyondTheCloseIsChargedInTwoParts) {
  Apportioner whose(Ns{0});
  whose.finished(kA, {Ns{10}, Ns{30}});
  EXPECT_EQ(whose.close(Ns{20}), (Charges{{kA, Ns{10}}}));
  EXPECT_EQ(whose.close(Ns{100}), (Charges{{kA, Ns{10}}}));
}

TEST(Apportioner, ARunningKernelIsNotChargedToItsNeighbour) {
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
  whose.busy(kA, Ns{0});
  whose.finished(kB, {Ns{100}, Ns{300}}, Ns{200});
  whose.busy(kC, Ns{0});
  const Ns rest = (kLong - Ns{200}) / 2;
  EXPECT_EQ(whose.close(kLong), (Charges{{kA, rest}, {kB, Ns{200}}, {kC, rest}}));
}

// The begin was recorded while another tenant had the device, as a begin is when nothing is queued.
TEST(Apportioner, WaitingForATurnIsNotCharged) {
  constexpr Ns us = std::chrono::microseconds(1);
  Apportioner whose(Ns{0});
  for (int i = 0; i < 4; ++i) {
    whose.finished(kA, {500 * us * i, 500 * us * (i + 1)}, 500 * us);
  }
  whose.finished(kB, {100 * us, 3000 * us}, 1000 * us);
  EXPECT_EQ(whose.close(4000 * us), (Charges{{kA, 2000 * us}, {kB, 1000 * us}}));
}

TEST(Apportioner, APairThatSpansAnothersSliceIsChargedItsOwnTime) {
  constexpr Ns us = std::chrono::microseconds(1);
  Apportioner whose(Ns{0});
  // kA continued after its second end until its slice was over. Then kB had a slice before kA's
  // next one.
  whose.finished(kA, {0 * us, 900 * us}, 900 * us);
  whose.finished(kA, {900 * us, 1800 * us}, 900 * us);
  whose.finished(kA, {1800 * us, 4100 * us}, 300 * us);
  whose.busy(kB, 100 * us);
  EXPECT_EQ(whose.close(4100 * us), (Charges{{kA, 2100 * us}, {kB, 2000 * us}}));
}

// kA's estimates are half of its work's real time. Its uninterrupted pairs show that.
TEST(Apportioner, UninterruptedPairsCorrectEstimates) {
  constexpr Ns us = std::chrono::microseconds(1);
  Apportioner whose(Ns{0});
  for (int i = 0; i < 10; ++i) {
    whose.finished(kA, {1000 * us * i, 1000 * us * (i + 1)}, 500 * us);
  }
  whose.close(10'000 * us);
  whose.busy(kB, 10'000 * us);
  whose.finished(kA, {12'000 * us, 15'000 * us}, 500 * us);
  EXPECT_EQ(whose.close(15'000 * us), (Charges{{kA, 1000 * us}, {kB, 4000 * us}}));
}

// Its estimate also spans kB's slices.
TEST(Apportioner, InterruptedLongWorkHasASliceBeforeItsEnd) {
  constexpr Ns ms = std::chrono::milliseconds(1);
  Apportioner whose(Ns{0});
  whose.busy(kA, Ns{0});
  whose.busy(kB, Ns{0});
  EXPECT_EQ(whose.close(10 * ms), (Charges{{kA, 5 * ms}, {kB, 5 * ms}}));
  EXPECT_EQ(whose.paid(kA), 5 * ms);
  whose.finished(kA, {Ns{0}, 13 * ms}, 13 * ms);
  whose.busy(kA, std::nullopt);
  EXPECT_EQ(whose.paid(kA), Ns{0});
  EXPECT_EQ(whose.close(13 * ms), (Charges{{kA, 5 * ms / 2}, {kB, ms / 2}}));
}

TEST(Apportioner, EarlierChargesCountAtTheEnd) {
  constexpr Ns ms = std::chrono::milliseconds(1);
  Apportioner whose(Ns{0});
  whose.busy(kA, Ns{0});
  whose.busy(kB, Ns{0});
  EXPECT_EQ(whose.close(20 * ms), (Charges{{kA, 10 * ms}, {kB, 10 * ms}}));
  whose.finished(kA, {Ns{0}, 24 * ms}, 11 * ms);  // of which 10 are paid
  whose.busy(kA, std::nullopt);
  EXPECT_EQ(whose.close(24 * ms), (Charges{{kA, 5 * ms / 2}, {kB, 3 * ms / 2}}));
}

TEST(Apportioner, LateReportsGetOnlyUnchargedTime) {
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

RC_GTEST_PROP(Apportioner, ChargesNeverExceedTheTimeNorATenantsReports, ()) {
  Apportioner whose(Ns{0});
  ByTenant<Ns> told;
  ByTenant<Ns> charged;
  Ns now{0};
  const int steps = *rc::gen::inRange(1, 60);
  const bool some_go_on = *rc::gen::arbitrary<bool>();
  for (int i = 0; i < steps; ++i) {
    const TenantId tenant{*rc::gen::inRange<std::uint32_t>(0, 4)};
    const Ns begin{*rc::gen::inRange(0, 2000)};
    const Stretch stretch{begin, begin + Ns{*rc::gen::inRange(-5, 300)}};
    whose.finished(tenant, stretch, Ns{*rc::gen::inRange(0, 400)});
    if (some_go_on && *rc::gen::inRange(0, 4) == 0) whose.busy(tenant, stretch.begin);
    told[tenant] += stretch.length();
    if (*rc::gen::inRange(0, 3) == 0) {
      now += Ns{*rc::gen::inRange(0, 400)};
      for (const auto& [who, part] : whose.close(now)) charged[who] += part;
    }
    Ns sum{0};
    for (const auto& [who, part] : charged) {
      RC_ASSERT(some_go_on || part <= told[who]);
      sum += part;
    }
    RC_ASSERT(sum <= now);
  }
}

}  // namespace
}  // namespace tranche::limit::apportion_test
