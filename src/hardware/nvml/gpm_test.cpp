#include "nvml/gpm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

namespace tranche::nvml::gpm_test {
namespace {

// What the driver answers for each metric; others are not supported. (A function of NVML takes no
// context.)
struct Answer {
  Return result = kSuccess;
  double value = 0;
};
std::map<std::uint32_t, Answer> answers;  // NOLINT: reset by each test

Return answer(GpmMetricsGet* request) {
  if (request->version != kGpmVersion) return kArgumentVersionMismatch;
  for (unsigned i = 0; i < request->count; ++i) {
    GpmMetric& metric = request->metrics[i];
    const auto found = answers.find(metric.metric_id);
    metric.result = found == answers.end() ? kNotSupported : found->second.result;
    metric.value = found == answers.end() ? 55 : found->second.value;
  }
  return kSuccess;
}

gpu::Activity read(std::map<std::uint32_t, Answer> by_metric) {
  answers = std::move(by_metric);
  Api api;
  api.nvmlGpmMetricsGet.pointer = &answer;
  Progress progress;
  Calls calls(api, progress);
  FigureCalls call(calls);
  return activity_between(call, nullptr, nullptr);
}

// As an H200 answered while it trained (2026-11-26): percent and MiB per second.
TEST(Gpm, PercentAreRatiosAndMibAreBytes) {
  const auto activity = read({{kGpmGraphics, {.value = 91.78}},
                              {kGpmSm, {.value = 70.2}},
                              {kGpmSmOccupancy, {.value = 19.74}},
                              {kGpmAnyTensor, {.value = 41.68}},
                              {kGpmDram, {.value = 17.3}},
                              {kGpmFp64, {.value = 0}},
                              {kGpmFp32, {.value = 0.97}},
                              {kGpmFp16, {.value = 0}},
                              {kGpmPcieSent, {.value = 23.5}},
                              {kGpmPcieReceived, {.value = 48}},
                              {kGpmNvlinkReceived, {.value = 1}},
                              {kGpmNvlinkSent, {.value = 2}}});
  EXPECT_DOUBLE_EQ(activity.graphics.value(), 0.9178);
  EXPECT_DOUBLE_EQ(activity.sm.value(), 0.702);
  EXPECT_DOUBLE_EQ(activity.sm_occupancy.value(), 0.1974);
  EXPECT_DOUBLE_EQ(activity.tensor.value(), 0.4168);
  EXPECT_DOUBLE_EQ(activity.dram.value(), 0.173);
  EXPECT_EQ(activity.fp64, 0.0);
  EXPECT_DOUBLE_EQ(activity.fp32.value(), 0.0097);
  EXPECT_EQ(activity.fp16, 0.0);
  EXPECT_EQ(activity.pcie_sent, 23.5 * 1048576);
  EXPECT_EQ(activity.pcie_received, 48.0 * 1048576);
  EXPECT_EQ(activity.nvlink_received, 1048576.0);
  EXPECT_EQ(activity.nvlink_sent, 2 * 1048576.0);
}

TEST(Gpm, WhatIsNotToldOrCannotBeIsAbsent) {
  struct Case {
    const char* name;
    Answer answer;
    std::optional<double> graphics;
    std::optional<double> sent;
  };
  const Case cases[] = {
      {"not supported", {.result = kNotSupported, .value = 40}, {}, {}},
      {"no number", {.value = std::nan("")}, {}, {}},
      {"endless", {.value = std::numeric_limits<double>::infinity()}, {}, {}},
      {"a counter that began anew", {.value = -3}, {}, {}},
      {"a little more than all", {.value = 100.4}, 1.0, 100.4 * 1048576},
      {"far more than all", {.value = 180}, {}, 180.0 * 1048576},
  };
  for (const Case& c : cases) {
    const auto activity = read({{kGpmGraphics, c.answer}, {kGpmPcieSent, c.answer}});
    EXPECT_EQ(activity.graphics, c.graphics) << c.name;
    EXPECT_EQ(activity.pcie_sent, c.sent) << c.name;
    EXPECT_EQ(activity.sm, std::nullopt) << c.name;
  }
}

TEST(Gpm, WithoutTheFunctionThereIsNoActivity) {
  const Api api;
  Progress progress;
  Calls calls(api, progress);
  FigureCalls call(calls);
  EXPECT_EQ(activity_between(call, nullptr, nullptr), gpu::Activity{});
}

}  // namespace
}  // namespace tranche::nvml::gpm_test
