#include "metrics/device_series.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "metrics/testing.h"
#include "support/node_figures.h"

namespace tranche::metrics::device_series_test {
namespace {

using Labels = std::map<std::string, std::string>;

std::string text(const NodeFigures& figures, DcgmNames names) {
  Exposition out(Format::kPrometheusText);
  write_device_series(out, figures, names);
  return std::move(out).finish();
}

ReadPage series(const NodeFigures& figures, DcgmNames names = DcgmNames::kBoth) {
  ReadPage page = read_page(text(figures, names), Format::kPrometheusText);
  EXPECT_EQ(page.faults, std::vector<std::string>{});
  return page;
}

NodeFigures node_of(const std::vector<test::GpuBuilder>& gpus) {
  NodeFigures figures{.node = "n1", .driver_version = "570.158.01"};
  for (const auto& gpu : gpus) figures.gpus.push_back(test::busy_gpu(gpu.build()));
  return figures;
}

Labels labels_of(const ReadPage& page, std::string_view name) {
  const auto found = page.named(name);
  return found.size() == 1 ? found[0].labels : Labels{};
}

TEST(DeviceSeries, BothGenerationsEachInItsUnit) {
  const auto page = series(node_of({test::a100_40gb(0)}));
  struct Case {
    const char* name;
    const char* value;
  };
  for (const auto& [name, value] :
       std::vector<Case>{{"DCGM_FI_DEV_SM_CLOCK", "1410"},
                         {"DCGM_FI_DEV_SM_CLOCK_HERTZ", "1410000000"},
                         {"DCGM_FI_DEV_POWER_USAGE", "287.412"},
                         {"DCGM_FI_DEV_BOARD_POWER_WATTS", "287.412"},
                         {"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "123456789012"},
                         {"DCGM_FI_DEV_GPU_ENERGY_JOULES_TOTAL", "123456789.012"},
                         {"DCGM_FI_DEV_GPU_UTIL", "97"},
                         {"DCGM_FI_DEV_GPU_UTIL_RATIO", "0.97"},
                         {"DCGM_FI_DEV_FB_USED", "30000"},
                         {"DCGM_FI_DEV_FB_USED_BYTES", "31457280000"},
                         {"DCGM_FI_DEV_FB_TOTAL", "40960"},
                         {"DCGM_FI_DEV_FB_CAPACITY_BYTES", "42949672960"},
                         {"DCGM_FI_DEV_POWER_VIOLATION", "12000000034"},
                         {"DCGM_FI_DEV_GPU_POWER_THROTTLE_SECONDS_TOTAL", "12.000000034"},
                         {"DCGM_FI_DEV_ROW_REMAP_FAILURE", "0"},
                         {"DCGM_FI_PROF_GR_ENGINE_ACTIVE", "0.96"},
                         {"DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO", "0.96"},
                         {"DCGM_FI_PROF_PCIE_TX_BYTES", "1.25e+09"}}) {
    EXPECT_EQ(page.value(name, {}), value) << name;
  }
}

TEST(DeviceSeries, OneGenerationAlone) {
  const auto figures = node_of({test::a100_40gb(0)});
  const auto v48 = series(figures, DcgmNames::k48);
  EXPECT_EQ(v48.value("DCGM_FI_DEV_GPU_UTIL", {}), "97");
  EXPECT_EQ(v48.value("DCGM_FI_DEV_GPU_UTIL_RATIO", {}), "0 series");
  const auto v49 = series(figures, DcgmNames::k49);
  EXPECT_EQ(v49.value("DCGM_FI_DEV_GPU_UTIL", {}), "0 series");
  EXPECT_EQ(v49.value("DCGM_FI_DEV_GPU_UTIL_RATIO", {}), "0.97");
  for (const auto* page : {&v48, &v49}) {
    EXPECT_EQ(page->value("DCGM_FI_PROF_PCIE_RX_BYTES", {}), "2.5e+08");
  }
  EXPECT_EQ(series(figures).size(), v48.size() + v49.size() - 4);
}

TEST(DeviceSeries, LabelsOfEachGeneration) {
  const Labels device = {{"gpu", "3"},
                         {"UUID", test::gpu_uuid(3)},
                         {"pci_bus_id", "00000000:13:00.0"},
                         {"device", "nvidia3"},
                         {"modelName", "NVIDIA A100-SXM4-40GB"},
                         {"hostname", "n1"}};
  const auto with = [&](Labels more) {
    more.insert(device.begin(), device.end());
    return more;
  };
  const Labels old = with({{"Hostname", "n1"}, {"DCGM_FI_DRIVER_VERSION", "570.158.01"}});
  const Labels recent = with({{"DCGM_FI_SYSTEM_DRIVER_VERSION", "570.158.01"}});
  Labels both = old;
  both.insert(recent.begin(), recent.end());

  const auto figures = node_of({test::a100_40gb(3)});
  const auto page = series(figures);
  EXPECT_EQ(labels_of(page, "DCGM_FI_DEV_GPU_TEMP"), old);
  EXPECT_EQ(labels_of(page, "DCGM_FI_DEV_GPU_TEMP_CELSIUS"), recent);
  EXPECT_EQ(labels_of(page, "DCGM_FI_PROF_PCIE_TX_BYTES"), both);
  EXPECT_EQ(labels_of(series(figures, DcgmNames::k48), "DCGM_FI_PROF_PCIE_TX_BYTES"), old);
  EXPECT_EQ(labels_of(series(figures, DcgmNames::k49), "DCGM_FI_PROF_PCIE_TX_BYTES"), recent);
}

TEST(DeviceSeries, WhatTheDriverDoesNotReportIsNoLabel) {
  auto figures = node_of({test::a100_40gb(0).minor(-1).name("")});
  figures.node.clear();
  figures.driver_version.clear();
  EXPECT_EQ(
      labels_of(series(figures), "DCGM_FI_DEV_GPU_TEMP"),
      (Labels{{"gpu", "0"}, {"UUID", test::gpu_uuid(0)}, {"pci_bus_id", "00000000:10:00.0"}}));
}

TEST(DeviceSeries, MemoryAndEnginesOfInstancesStandOnThemAlone) {
  const auto page = series(node_of({test::a100_40gb(0).mig({"3g.20gb", "3g.20gb"})}));
  for (const char* name : {"DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_FB_CAPACITY_BYTES",
                           "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_PROF_DRAM_UTIL_RATIO"}) {
    std::set<std::string> ids;
    for (const auto& one : page.named(name)) {
      EXPECT_EQ(one.labels.at("GPU_I_PROFILE"), "3g.20gb");
      EXPECT_EQ(one.labels.at("UUID"), test::gpu_uuid(0));
      ids.insert(one.labels.at("GPU_I_ID"));
    }
    EXPECT_EQ(ids, (std::set<std::string>{"1", "2"})) << name;
  }
  EXPECT_EQ(page.value("DCGM_FI_DEV_FB_USED", {{"GPU_I_ID", "2"}}), "12000");
}

TEST(DeviceSeries, EverythingElseStaysOnTheGpu) {
  const auto page = series(node_of({test::a100_40gb(0).mig({"3g.20gb", "3g.20gb"})}));
  for (const char* name : {"DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_BOARD_POWER_WATTS",
                           "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "DCGM_FI_PROF_PCIE_TX_BYTES"}) {
    const auto found = page.named(name);
    ASSERT_EQ(found.size(), 1U) << name;
    EXPECT_FALSE(found[0].labels.contains("GPU_I_ID")) << name;
  }
}

TEST(DeviceSeries, AMigGpuWithoutInstancesHasItsOwnMemory) {
  const auto page = series(node_of({test::a100_40gb(0).mig()}));
  EXPECT_EQ(page.value("DCGM_FI_DEV_FB_USED", {}), "30000");
}

TEST(DeviceSeries, ComputeInstancesOfOneGpuInstanceAreOneSeries) {
  auto figures = node_of({test::a100_40gb(0).mig({"1c.2g.10gb", "1c.2g.10gb"})});
  for (auto& instance : figures.gpus[0].gpu.mig_instances) instance.gpu_instance_id = 5;
  const auto found = series(figures).named("DCGM_FI_DEV_FB_USED");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].labels.at("GPU_I_PROFILE"), "2g.10gb");
  EXPECT_EQ(found[0].labels.at("GPU_I_ID"), "5");
}

TEST(DeviceSeries, AnInstanceWithoutAReadingHasNoLine) {
  auto figures = node_of({test::a100_40gb(0).mig({"3g.20gb", "3g.20gb"})});
  figures.gpus[0].fast->instances[0].figures.reset();
  figures.gpus[0].fast->instances[1].uuid = "MIG-of-another-time";
  EXPECT_TRUE(series(figures).named("DCGM_FI_DEV_FB_USED").empty());
}

TEST(DeviceSeries, WithoutReadingsThereIsOnlyTheXid) {
  auto figures = node_of({test::a100_40gb(0)});
  figures.gpus[0].fast.reset();
  figures.gpus[0].slow.reset();
  EXPECT_EQ(text(figures, DcgmNames::kBoth), "");
  figures.gpus[0].last_xid = 79;
  const auto page = series(figures);
  EXPECT_EQ(page.size(), 2U);
  EXPECT_EQ(page.value("DCGM_FI_DEV_XID_ERRORS", {}), "79");
  EXPECT_EQ(page.value("DCGM_FI_DEV_XID_ERROR", {}), "79");
}

TEST(DeviceSeries, TheOrderOfGpusDoesNotMatter) {
  EXPECT_EQ(text(node_of({test::a100_40gb(1), test::t4(0)}), DcgmNames::kBoth),
            text(node_of({test::t4(0), test::a100_40gb(1)}), DcgmNames::kBoth));
}

TEST(DeviceSeries, AGpuThatIsListedTwiceIsWrittenOnce) {
  EXPECT_EQ(series(node_of({test::t4(0), test::t4(0)})).size(),
            series(node_of({test::t4(0)})).size());
}

// 66 - 4: a GPU with GPM, an XID and both generations.
TEST(DeviceSeries, HowManyAGpuHas) {
  auto figures = node_of({test::h100(0)});
  figures.gpus[0].last_xid = 31;
  EXPECT_EQ(series(figures).size(), 62U);
}

}  // namespace
}  // namespace tranche::metrics::device_series_test
