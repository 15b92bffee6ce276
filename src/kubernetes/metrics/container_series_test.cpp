#include "metrics/container_series.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "metrics/testing.h"
#include "support/node_figures.h"

namespace tranche::metrics::container_series_test {
namespace {

using Labels = std::map<std::string, std::string>;

constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();
// Of test::sharing_container().
constexpr std::size_t kSeries = 12;

struct Written {
  std::string text;
  ReadPage page;
  std::size_t left_out = 0;
};

Written write(const std::vector<usage::ContainerFigures>& containers, std::size_t most = kNoLimit) {
  Exposition out(Format::kOpenMetrics);
  Written written;
  written.left_out = write_container_series(out, {.node = "n1", .containers = containers}, most);
  written.text = std::move(out).finish();
  written.page = read_page(written.text, Format::kOpenMetrics);
  EXPECT_EQ(written.page.faults, std::vector<std::string>{});
  return written;
}

TEST(ContainerSeries, AllThatIsKnown) {
  const auto page = write({test::sharing_container(0, 1, 0.25)}).page;
  struct Case {
    const char* name;
    const char* value;
  };
  for (const auto& [name, value] :
       std::vector<Case>{{"tranche_container_attributed", "1"},
                         {"tranche_container_processes", "1"},
                         {"tranche_container_memory_used_bytes", "512000001"},
                         {"tranche_container_memory_peak_bytes", "612000000"},
                         {"tranche_container_memory_limit_bytes", "800000000"},
                         {"tranche_container_compute_seconds_total", "987654.321000124"},
                         {"tranche_container_compute_estimated_seconds_total", "0 series"},
                         {"tranche_container_compute_asked_seconds_total", "1000000"},
                         {"tranche_container_wait_seconds_total", "1.5"},
                         {"tranche_container_launches_total", "123456"},
                         {"tranche_container_compute_promised_ratio", "0.25"},
                         {"tranche_container_allocation_failures_total", "2"},
                         {"container_gpu_allocation", "0.25"}}) {
    EXPECT_EQ(page.value(name, {}), value) << name;
  }
  EXPECT_EQ(page.size(), kSeries);
}

TEST(ContainerSeries, WhatNobodyGaveIsNoAllocation) {
  auto one = test::sharing_container(0, 1, 0);
  one.mechanism = usage::Mechanism::kNone;
  one.resource.clear();
  const auto page = write({one}).page;
  EXPECT_EQ(page.named("tranche_container_memory_used_bytes").at(0).labels.at("mechanism"), "none");
  EXPECT_EQ(page.value("container_gpu_allocation", {}), "0 series");
  EXPECT_EQ(page.size(), kSeries - 1);
}

TEST(ContainerSeries, ATierIsALabel) {
  auto one = test::sharing_container(0, 1, 0.25);
  EXPECT_FALSE(
      write({one}).page.named("tranche_container_attributed").at(0).labels.contains("tier"));
  one.tier = "small";
  EXPECT_EQ(write({one}).page.named("tranche_container_attributed").at(0).labels.at("tier"),
            "small");
}

TEST(ContainerSeries, LabelsOfAGpu) {
  const auto page = write({test::sharing_container(0, 1, 0.25)}).page;
  EXPECT_EQ(page.named("tranche_container_memory_used_bytes").at(0).labels,
            (Labels{{"namespace", "team-1"},
                    {"pod", "inference-0-00001-7d4b9c6f5-x2x91"},
                    {"container", "server"},
                    {"resource", "nvidia.com/gpu.shared"},
                    {"mechanism", "share"},
                    {"gpu", test::gpu_uuid(0)},
                    {"device", test::gpu_uuid(0)},
                    {"node", "n1"}}));
  EXPECT_EQ(page.named("container_gpu_allocation").at(0).labels,
            (Labels{{"namespace", "team-1"},
                    {"pod", "inference-0-00001-7d4b9c6f5-x2x91"},
                    {"container", "server"},
                    {"node", "n1"}}));
}

TEST(ContainerSeries, LabelsOfAnInstance) {
  auto container = test::sharing_container(0, 1, 0.5);
  container.mechanism = usage::Mechanism::kMig;
  container.device = test::mig_uuid(0, 1);
  container.mig_profile = "3g.20gb";
  const auto labels = write({container}).page.named("tranche_container_processes").at(0).labels;
  EXPECT_EQ(labels.at("gpu"), test::gpu_uuid(0));
  EXPECT_EQ(labels.at("device"), test::mig_uuid(0, 1));
  EXPECT_EQ(labels.at("mig_profile"), "3g.20gb");
  EXPECT_EQ(labels.at("mechanism"), "mig");
}

TEST(ContainerSeries, WhatIsUnknownIsNoSeriesAndNever0) {
  const usage::ContainerFigures unknown{.ns = "a", .pod = "b", .container = "c"};
  const auto page = write({unknown}).page;
  EXPECT_EQ(page.value("tranche_container_attributed", {}), "0");
  EXPECT_EQ(page.value("container_gpu_allocation", {}), "1");
  EXPECT_EQ(page.size(), 2U);
}

TEST(ContainerSeries, AnEstimateHasANameOfItsOwn) {
  usage::ContainerFigures container{.ns = "a",
                                    .compute_estimated = std::chrono::milliseconds(1'500)};
  const auto page = write({container}).page;
  EXPECT_EQ(page.value("tranche_container_compute_estimated_seconds_total", {}), "1.5");
  EXPECT_EQ(page.value("tranche_container_compute_seconds_total", {}), "0 series");
}

TEST(ContainerSeries, WhatIsNoNumberIsNoSeries) {
  const usage::ContainerFigures container{
      .ns = "a",
      .gpus = std::numeric_limits<double>::infinity(),
      .compute_promised = std::numeric_limits<double>::quiet_NaN(),
      .compute = std::chrono::nanoseconds(-1)};
  const auto written = write({container});
  EXPECT_EQ(written.page.size(), 1U);
  EXPECT_EQ(written.left_out, 0U);
}

// OpenCost takes the mean of a container's lines.
TEST(ContainerSeries, OpenCostReadsOneLineOfAContainerWithSeveralDevices) {
  auto first = test::sharing_container(0, 1, 1);
  auto second = first;
  second.gpu = second.device = test::gpu_uuid(1);
  second.gpus = 0.25;
  const auto page = write({first, second}).page;
  EXPECT_EQ(page.value("container_gpu_allocation", {}), "1.25");
  EXPECT_EQ(page.named("tranche_container_memory_used_bytes").size(), 2U);
}

TEST(ContainerSeries, TheOrderDoesNotMatter) {
  auto containers = test::shared_node(2, 9).containers;
  const std::string text = write(containers).text;
  std::ranges::reverse(containers);
  EXPECT_EQ(write(containers).text, text);
}

TEST(ContainerSeries, OfTwinsTheFirstIsWrittenAndTheOtherCounted) {
  auto twin = test::sharing_container(0, 1, 0.5);
  const auto first = twin;
  twin.memory_used = 1;
  const auto written = write({first, twin});
  EXPECT_EQ(written.page.value("tranche_container_memory_used_bytes", {}), "512000001");
  EXPECT_EQ(written.page.value("container_gpu_allocation", {}), "0.5");
  EXPECT_EQ(written.left_out, kSeries - 1);
}

// Both become U+FFFD.
TEST(ContainerSeries, WhatTheEscapeMakesEqualIsATwin) {
  const auto written = write({{.ns = "a", .pod = "\x01"}, {.ns = "a", .pod = "\xFF"}});
  EXPECT_EQ(written.page.size(), 2U);
  EXPECT_EQ(written.left_out, 1U);
}

TEST(ContainerSeries, BeyondTheLimitWholeContainersAreLeftOut) {
  const std::vector<usage::ContainerFigures> containers = {test::sharing_container(0, 0, 0.1),
                                                           test::sharing_container(0, 1, 0.1),
                                                           test::sharing_container(0, 2, 0.1)};
  struct Case {
    std::size_t most;
    std::size_t written;
  };
  for (const auto& [most, size] : std::vector<Case>{{0, 0},
                                                    {kSeries - 1, 0},
                                                    {kSeries, kSeries},
                                                    {2 * kSeries - 1, kSeries},
                                                    {2 * kSeries, 2 * kSeries},
                                                    {3 * kSeries - 1, 2 * kSeries},
                                                    {3 * kSeries, 3 * kSeries},
                                                    {kNoLimit, 3 * kSeries}}) {
    const auto written = write(containers, most);
    EXPECT_EQ(written.page.size(), size) << most;
    EXPECT_EQ(written.left_out, 3 * kSeries - size) << most;
  }
  EXPECT_EQ(write(containers, kSeries)
                .page.named("container_gpu_allocation")
                .at(0)
                .labels.at("namespace"),
            "team-0");
}

TEST(ContainerSeries, AContainerWithTwoDevicesIsWholeOrLeftOut) {
  auto first = test::sharing_container(0, 1, 1);
  auto second = first;
  second.gpu = second.device = test::gpu_uuid(1);
  // container_gpu_allocation is one for both.
  const std::size_t both = 2 * kSeries - 1;
  EXPECT_EQ(write({first, second}, both - 1).page.size(), 0U);
  EXPECT_EQ(write({first, second}, both).page.size(), both);
}

}  // namespace
}  // namespace tranche::metrics::container_series_test
