#include "dra/packing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <random>

#include "support/machines.h"

namespace tranche::dra::packing_test {
namespace {

using ::testing::ElementsAre;

constexpr std::uint64_t kMiB = 1U << 20U;

Pool pool_of(int gpus) { return make_pool(test::machine_of(gpus, test::l20), {.shares = true}); }

PreparedClaim claim(const std::string& device, std::optional<ConsumedPart> part) {
  return {.uid = device, .devices = {{.device = device, .part = part}}};
}

ConsumedPart part(std::uint64_t mib, std::uint32_t percent) { return {{mib * kMiB}, percent}; }

std::vector<std::string> order(const Pool& pool) {
  std::vector<std::string> names;
  for (const auto& device : pool.gpus) names.push_back(device.name);
  return names;
}

TEST(Packing, TheFullestGpuThatHasRoomIsFirst) {
  auto pool = pool_of(6);
  put_fullest_first(pool, {claim("gpu-1", part(1000, 10)), claim("gpu-3", part(1000, 60)),
                           claim("gpu-4", {}),                // whole
                           claim("gpu-5", part(46068, 1))});  // all of the memory
  EXPECT_THAT(order(pool), ElementsAre("gpu-3", "gpu-1", "gpu-0", "gpu-2", "gpu-4", "gpu-5"));
  put_fullest_first(pool, {});
  auto names = order(pool);
  EXPECT_EQ(names.front(), "gpu-3") << "of equally free ones the order stays";
}

// A GPU divided by MIG can be neither allocated whole nor shared.
TEST(Packing, AGpuDividedByMigIsLast) {
  auto pool = pool_of(3);
  auto cut = claim("gpu-0-mig-1g10gb-19-6", {});
  cut.devices[0].place = MigPlace{{test::gpu_uuid(0)}, 19, {6, 1}};
  put_fullest_first(pool, {cut, claim("gpu-2", part(1000, 10))});
  EXPECT_THAT(order(pool), ElementsAre("gpu-2", "gpu-1", "gpu-0"));
}

TEST(Packing, TheScarcerOfMemoryAndComputeCounts) {
  auto pool = pool_of(3);
  put_fullest_first(pool, {claim("gpu-0", part(23034, 10)), claim("gpu-1", part(1000, 60)),
                           claim("gpu-2", part(1000, 5)), claim("gpu-2", part(1000, 5))});
  EXPECT_THAT(order(pool), ElementsAre("gpu-1", "gpu-0", "gpu-2"));
}

// A claim for monitoring holds nothing.
TEST(Packing, AdminAccessTakesNothing) {
  auto pool = pool_of(2);
  auto monitor = claim("gpu-1", {});
  monitor.devices[0].admin_access = true;
  put_fullest_first(pool, {monitor});
  EXPECT_THAT(order(pool), ElementsAre("gpu-0", "gpu-1"));
}

// Like the scheduler: the first device of the list with room for the share.
std::string first_fit(const Pool& pool, const std::map<std::string, std::uint32_t>& used,
                      std::uint32_t percent) {
  for (const auto& device : pool.gpus) {
    const auto found = used.find(device.name);
    if ((found == used.end() ? 0 : found->second) + percent <= 100) return device.name;
  }
  return "";
}

// Of those with room the one with the least left over; the first of equals in `names`.
std::string best_fit(const std::vector<std::string>& names,
                     const std::map<std::string, std::uint32_t>& used, std::uint32_t percent) {
  std::string best;
  std::uint32_t most = 0;
  for (const auto& name : names) {
    const auto found = used.find(name);
    const auto now = found == used.end() ? 0 : found->second;
    if (now + percent > 100 || (!best.empty() && now <= most)) continue;
    best = name;
    most = now;
  }
  return best;
}

// A hundred shares, one after the other, with a sorted list before each.
TEST(Packing, FirstFitInThisOrderPlacesAsMuchAsBestFit) {
  std::mt19937 random(20260101);
  for (int run = 0; run < 50; ++run) {
    auto pool = pool_of(8);
    const auto names = order(pool);
    std::map<std::string, std::uint32_t> ours;
    std::map<std::string, std::uint32_t> best;
    std::vector<PreparedClaim> prepared;
    std::uint32_t placed = 0;
    std::uint32_t by_best_fit = 0;
    for (int i = 0; i < 100; ++i) {
      const auto percent = std::uniform_int_distribution<std::uint32_t>(1, 60)(random);
      const auto there = best_fit(names, best, percent);
      if (!there.empty()) {
        best[there] += percent;
        by_best_fit += percent;
      }
      put_fullest_first(pool, prepared);
      const auto here = first_fit(pool, ours, percent);
      if (here.empty()) continue;
      ours[here] += percent;
      placed += percent;
      prepared.push_back(claim(here, part(46068ULL * percent / 100, percent)));
    }
    for (const auto& [name, used] : ours) EXPECT_LE(used, 100U) << name;
    EXPECT_GE(placed, by_best_fit) << run;
  }
}

}  // namespace
}  // namespace tranche::dra::packing_test
