// Pages as a whole, against golden files in tests/data/metrics. To write them anew after an
// intended change: TRANCHE_WRITE_GOLDEN=1 metrics_test --gtest_filter='*Golden*'

#include "metrics/page.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/fs.h"
#include "metrics/testing.h"
#include "support/node_figures.h"

namespace tranche::metrics::page_test {
namespace {

// One GPU that two containers share, one with MIG instances, one of which little is known.
NodeFigures small_node() {
  NodeFigures figures = test::shared_node(1, 2);
  figures.gpus.push_back(test::busy_gpu(test::a100_40gb(1).mig({"3g.20gb", "3g.20gb"}).build()));
  figures.gpus.push_back({.gpu = test::t4(2).build(), .last_xid = 79});
  figures.containers.push_back({.ns = "batch",
                                .pod = "train-0",
                                .container = "main",
                                .resource = "nvidia.com/mig-3g.20gb",
                                .mechanism = usage::Mechanism::kMig,
                                .gpu = test::gpu_uuid(1),
                                .device = test::mig_uuid(1, 0),
                                .mig_profile = "3g.20gb",
                                .gpus = 0.5,
                                .attributed = true,
                                .processes = 2,
                                .memory_used = 9'000'000'000,
                                .compute_estimated = std::chrono::milliseconds(12'345)});
  figures.containers.push_back({.ns = "batch",
                                .pod = "unknown-0",
                                .container = "main",
                                .resource = "nvidia.com/gpu",
                                .gpu = test::gpu_uuid(2),
                                .device = test::gpu_uuid(2)});
  figures.checks[0].works = false;
  figures.slow_age.reset();
  return figures;
}

struct Case {
  const char* name;
  PageOptions options;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class Golden : public testing::TestWithParam<Case> {};

TEST_P(Golden, Page) {
  const auto& [name, options] = GetParam();
  const std::string text = page(small_node(), options);
  const auto path = std::filesystem::current_path() / "tests/data/metrics" / name;
  if (std::getenv("TRANCHE_WRITE_GOLDEN") != nullptr) {
    ASSERT_TRUE(FsRoot().write_atomic(path, text));
  }
  const auto golden = FsRoot().read(path);
  ASSERT_TRUE(golden) << golden.error().what;
  EXPECT_EQ(text, *golden);
  EXPECT_EQ(read_page(text, options.format).faults, std::vector<std::string>{});
}

INSTANTIATE_TEST_SUITE_P(Written, Golden,
                         testing::Values(Case{"page-both.txt", {.version = "0.1.0"}},
                                         Case{"page-4.8.txt",
                                              {.names = DcgmNames::k48, .version = "0.1.0"}},
                                         Case{"page-4.9.openmetrics.txt",
                                              {.names = DcgmNames::k49,
                                               .format = Format::kOpenMetrics,
                                               .version = "0.1.0"}}));

std::size_t size_of(std::size_t most) {
  return read_page(page(small_node(), {.max_series = most, .version = "1"}),
                   Format::kPrometheusText)
      .size();
}

TEST(Page, ContainersGetWhatTheRestLeaves) {
  const std::size_t all = size_of(10'000);
  EXPECT_EQ(size_of(all), all);
  EXPECT_LT(size_of(all - 1), all);
  const std::size_t without_containers = size_of(0);
  EXPECT_EQ(size_of(without_containers), without_containers);
}

TEST(Page, WhatIsLeftOutIsCounted) {
  const auto full = read_page(page(small_node(), {}), Format::kPrometheusText);
  const auto cut = read_page(page(small_node(), {.max_series = 0}), Format::kPrometheusText);
  EXPECT_EQ(full.value("tranche_series_dropped", {}), "0");
  EXPECT_EQ(cut.value("tranche_series_dropped", {}), std::to_string(full.size() - cut.size()));
  EXPECT_TRUE(cut.named("tranche_container_attributed").empty());
  EXPECT_FALSE(cut.named("DCGM_FI_DEV_FB_USED").empty());
}

TEST(Page, NothingIsKnown) {
  const auto nothing = read_page(page({}, {.version = "1"}), Format::kPrometheusText);
  EXPECT_EQ(nothing.faults, std::vector<std::string>{});
  EXPECT_EQ(nothing.size(), 2U);  // the release, and that nothing was left out
}

}  // namespace
}  // namespace tranche::metrics::page_test
