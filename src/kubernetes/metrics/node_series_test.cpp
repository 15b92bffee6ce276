#include "metrics/node_series.h"

#include <gtest/gtest.h>

#include <limits>

#include "metrics/testing.h"
#include "support/node_figures.h"

namespace tranche::metrics::node_series_test {
namespace {

struct Written {
  ReadPage page;
  std::size_t left_out = 0;
};

Written write(const NodeFigures& figures) {
  Exposition out(Format::kOpenMetrics);
  Written written;
  written.left_out = write_node_series(out, figures, "1.2.3");
  written.page = read_page(std::move(out).finish(), Format::kOpenMetrics);
  EXPECT_EQ(written.page.faults, std::vector<std::string>{});
  return written;
}

usage::MemoryAccount account() {
  return {.gpu = "GPU-a",
          .total = 21,
          .free = 1,
          .reserved = 2,
          .containers = 3,
          .host_processes = 4,
          .unknown = 5,
          .unattributed = 6,
          .excess = 7};
}

TEST(NodeSeries, WhereTheMemoryIs) {
  const auto page = write({.node = "n1", .memory = {account()}}).page;
  struct Case {
    const char* use;
    const char* bytes;
  };
  for (const auto& [use, bytes] : std::vector<Case>{{"containers", "3"},
                                                    {"host-processes", "4"},
                                                    {"unknown", "5"},
                                                    {"unattributed", "6"},
                                                    {"reserved", "2"},
                                                    {"free", "1"}}) {
    EXPECT_EQ(
        page.value("tranche_gpu_memory_bytes", {{"gpu", "GPU-a"}, {"use", use}, {"node", "n1"}}),
        bytes);
  }
  EXPECT_EQ(page.named("tranche_gpu_memory_bytes").size(), 6U);
  EXPECT_EQ(page.value("tranche_gpu_memory_excess_bytes", {{"gpu", "GPU-a"}}), "7");
}

TEST(NodeSeries, MemoryThatDoesNotAddUpIsLeftOut) {
  auto less = account();
  less.free = 0;
  auto more = account();
  more.unknown = 6;
  auto overflow = account();
  overflow.free = std::numeric_limits<std::uint64_t>::max();
  overflow.reserved = 4;  // the sum modulo 2^64 is the total again
  for (const auto& one : {less, more, overflow}) {
    const auto written = write({.memory = {one}});
    EXPECT_EQ(written.page.named("tranche_gpu_memory_bytes").size(), 0U);
    EXPECT_EQ(written.page.value("tranche_gpu_memory_excess_bytes", {}), "7");
    EXPECT_EQ(written.left_out, 6U);
  }
}

TEST(NodeSeries, TwinsAreLeftOutAndCounted) {
  const auto written = write({.memory = {account(), account()},
                              .tranches = {{.resource = "a"}, {.resource = "a"}},
                              .checks = {{.name = "pods", .works = true}, {.name = "pods"}}});
  EXPECT_EQ(written.left_out, 7U + 3U + 1U);
  EXPECT_EQ(written.page.value("tranche_check", {{"check", "pods"}}), "1");
}

TEST(NodeSeries, GpusAreCountedOnce) {
  NodeFigures figures{.node = "n1"};
  EXPECT_EQ(write(figures).page.value("node_gpu_count", {}), "0 series");
  for (const int index : {0, 1, 1}) figures.gpus.push_back({.gpu = test::t4(index).build()});
  EXPECT_EQ(write(figures).page.value("node_gpu_count", {{"node", "n1"}}), "2");
}

TEST(NodeSeries, Tranches) {
  const auto page = write({.tranches = {{.resource = "nvidia.com/gpu",
                                         .mechanism = usage::Mechanism::kTimeSlicing,
                                         .advertised = 8,
                                         .allocated = 5,
                                         .withheld = 2}}})
                        .page;
  const std::map<std::string, std::string> labels = {{"resource", "nvidia.com/gpu"},
                                                     {"mechanism", "time-slicing"}};
  const auto value = [&](const char* state) {
    auto with_state = labels;
    with_state["state"] = state;
    return page.value("tranche_tranches", with_state);
  };
  EXPECT_EQ(value("advertised"), "8");
  EXPECT_EQ(value("allocated"), "5");
  EXPECT_EQ(value("withheld"), "2");
}

TEST(NodeSeries, ChecksAgesAndTheRelease) {
  const auto page = write({.checks = {{.name = "pods", .works = true}, {.name = "kubelet"}},
                           .fast_age = std::chrono::milliseconds(250)})
                        .page;
  EXPECT_EQ(page.value("tranche_check", {{"check", "pods"}}), "1");
  EXPECT_EQ(page.value("tranche_check", {{"check", "kubelet"}}), "0");
  EXPECT_EQ(page.value("tranche_sample_age_seconds", {{"figures", "fast"}}), "0.25");
  EXPECT_EQ(page.value("tranche_sample_age_seconds", {{"figures", "slow"}}), "0 series");
  EXPECT_EQ(page.value("tranche_build_info", {{"version", "1.2.3"}}), "1");
}

TEST(NodeSeries, TheConfiguration) {
  const auto states = [](std::optional<Configuration> configuration) {
    const auto page = write({.node = "n1", .configuration = configuration}).page;
    std::string text;
    for (const auto& one : page.named("tranche_configuration")) {
      text += one.labels.at("state") + "=" + one.value + " ";
    }
    return text;
  };
  EXPECT_EQ(states(Configuration::kCurrent), "current=1 older=0 default=0 ");
  EXPECT_EQ(states(Configuration::kOlder), "current=0 older=1 default=0 ");
  EXPECT_EQ(states(Configuration::kDefault), "current=0 older=0 default=1 ");
  EXPECT_EQ(states(std::nullopt), "") << "unknown is none of them";
}

TEST(NodeSeries, Dropped) {
  Exposition out(Format::kPrometheusText);
  write_dropped(out, {.node = "n1"}, 12);
  const auto page = read_page(std::move(out).finish(), Format::kPrometheusText);
  EXPECT_EQ(page.value("tranche_series_dropped", {{"node", "n1"}}), "12");
}

}  // namespace
}  // namespace tranche::metrics::node_series_test
