#include "offer/room.h"

#include <gtest/gtest.h>

namespace tranche::offer::room_test {
namespace {

constexpr Bytes kWhole = Bytes::from_mib(1000);

// A part of a device of 1000 MiB; -1: no limit.
DeviceLimits part(int mib, int permille, std::uint32_t weight = 0) {
  DeviceLimits limits{.uuid = "GPU-a", .weight = weight};
  if (mib >= 0) limits.memory = Bytes::from_mib(static_cast<std::uint64_t>(mib));
  if (permille >= 0) limits.permille = static_cast<std::uint32_t>(permille);
  if (weight == 0) limits.weight = limits.permille.value_or(1000);
  return limits;
}

TEST(Room, AContainerIsRaisedAsFarAsItFits) {
  const auto quarter = part(250, 250);
  const auto half = part(500, 500);
  const auto whole = part(-1, -1);
  struct Case {
    const char* name;
    DeviceLimits now;
    DeviceLimits wanted;
    std::vector<DeviceLimits> others;
    DeviceLimits expected;
  };
  const Case cases[] = {
      {"alone", quarter, half, {}, half},
      {"beside one half", quarter, half, {half}, half},
      {"beside three quarters", quarter, half, {quarter, quarter, quarter}, quarter},
      {"beside the whole", quarter, half, {whole}, quarter},
      {"to the whole, alone", half, whole, {}, whole},
      {"to the whole, beside others", half, whole, {quarter}, half},
      {"lowered, whatever others have", half, quarter, {whole}, quarter},
      {"lowered from the whole", whole, half, {half, half}, half},
      {"memory fits and time does not", quarter, half, {part(100, 600)}, part(500, 250)},
      {"time fits and memory does not", quarter, half, {part(600, 100)}, part(250, 500)},
      {"a weight is no promise of time",
       part(250, 250),
       part(500, -1, 500),
       {part(500, 600)},
       part(500, -1, 500)},
      {"a part without a limit of memory counts by its weight",
       quarter,
       half,
       {part(-1, 600)},
       quarter},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(as_far_as_it_fits(c.now, c.wanted, c.others, kWhole), c.expected) << c.name;
  }
}

TEST(Room, WhoStaysBehindIsKeptByTheSame) {
  auto now = part(250, 250);
  now.enforcer = MemoryEnforcer::kMps;
  const auto got = as_far_as_it_fits(now, part(-1, -1), std::vector{part(500, 500)}, kWhole);
  EXPECT_EQ(got.enforcer, MemoryEnforcer::kMps);
  EXPECT_EQ(got.memory, now.memory);
}

}  // namespace
}  // namespace tranche::offer::room_test
