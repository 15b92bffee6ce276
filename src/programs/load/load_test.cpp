#include "load/load.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "load/render.h"

namespace tranche::load::load_test {
namespace {

using nlohmann::json;

template <class T>
json parsed(const T& value) {
  return json::parse(to_json(value).text());
}

// `read` of a text; nothing of it refers to the text.
template <class T>
Result<T> from(Result<T> (*read)(tranche::json::View), const std::string& text) {
  return read(tranche::json::parse(text).value_or(tranche::json::View()));
}

Report some_report() {
  return {.name = "latency",
          .pid = 42,
          .memory = Bytes::from_mib(315),
          .launches = 100,
          .work = std::chrono::milliseconds(200),
          .elapsed = std::chrono::seconds(1),
          .latency = Percentiles{.count = 100,
                                 .mean = nanoseconds(5),
                                 .p50 = nanoseconds(1),
                                 .p90 = nanoseconds(2),
                                 .p99 = nanoseconds(3),
                                 .max = nanoseconds(4)},
          .refused = "no more",
          .error = "broken"};
}

TEST(Load, ComesBackFromItsJsonWhole) {
  Load load;
  load.pattern = Pattern::kStorm;
  load.name = "storm-2";
  load.driver = "/x/libcuda.so.1";
  load.device = 3;
  load.memory = Bytes::from_mib(7);
  load.all_memory = true;
  load.chunk = Bytes{5};
  load.family = Family::kVmm;
  load.scratch = Bytes{6};
  load.kernel = nanoseconds(11);
  load.graph_nodes = 12;
  load.spin = true;
  load.fill = 13;
  load.rounds_per_us = 1.25;
  load.duty = 14;
  load.depth = 15;
  load.every = nanoseconds(16);
  load.duration = nanoseconds(17);
  load.count = 18;
  load.time = TimeBase::kDevice;
  const auto back = from(load_from_json, to_json(load).text());
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(parsed(*back), parsed(load));
  // Every field differs from what a Load has by itself, so none was forgotten on the way back.
  const json plain = parsed(Load());
  const json changed = parsed(load);
  for (const auto& [key, value] : changed.items()) EXPECT_NE(value, plain[key]) << key;
}

TEST(Load, WhatIsNoLoadIsRefused) {
  const std::pair<const char*, const char*> cases[] = {
      {"[]", "no load"},
      {"7", "no load"},
      {"{", "no load"},
      {R"({"device":"first"})", "load: device is a text where a number is expected"},
      {R"({"memory":-1.5,"spin":3})",
       "load: memory is -1.5, no whole number from 0 to 18446744073709551615"},
      {R"({"spin":3})", "load: spin is a number where true or false is expected"},
      {R"({"depth":4294967296})",
       "load: depth is 4294967296, no whole number from 0 to 4294967295"},
      {R"({"pattern":6})", "load: pattern is 6, no whole number from 0 to 5"},
      {R"({"roundsPerUs":"1"})", "load: roundsPerUs is a text where a number is expected"}};
  for (const auto& [text, why] : cases) {
    const auto read = from(load_from_json, text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, Code::kInvalidArgument);
    EXPECT_EQ(read.error().what, why);
  }
}

TEST(Report, ComesBackFromItsJsonWhole) {
  const auto back = from(report_from_json, to_json(some_report()).text());
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(parsed(*back), parsed(some_report()));
  Report silent = some_report();
  silent.latency.reset();
  const auto without = from(report_from_json, to_json(silent).text());
  ASSERT_TRUE(without);
  EXPECT_FALSE(without->latency);
}

TEST(Report, RatesAreOfTheTimeThatPassed) {
  EXPECT_DOUBLE_EQ(some_report().launches_per_second(), 100);
  EXPECT_DOUBLE_EQ(some_report().gpu_percent(), 20);
  EXPECT_DOUBLE_EQ(Report().launches_per_second(), 0);
  EXPECT_DOUBLE_EQ(Report().gpu_percent(), 0);
}

TEST(Render, ATableHasTheColumnsThatSaySomething) {
  const DeviceInfo device{.name = "NVIDIA L20", .memory = Bytes::from_mib(1000)};
  Report holder{.name = "hold", .pid = 7, .memory = Bytes::from_mib(315)};
  EXPECT_EQ(render_table(Outcome{device, {holder}}),
            "NVIDIA L20, 1000 MiB\n"
            "PROCESS  PID   MEMORY\n"
            "hold       7  315 MiB\n");
  EXPECT_EQ(render_table(Outcome{device, {some_report(), holder}}),
            "NVIDIA L20, 1000 MiB\n"
            "PROCESS  PID   MEMORY  LAUNCHES  PER SECOND  GPU %   P50   P90   P99   MAX\n"
            "latency   42  315 MiB       100       100.0   20.0  1 ns  2 ns  3 ns  4 ns\n"
            "hold       7  315 MiB         0         0.0    0.0     -     -     -     -\n"
            "all           630 MiB       100       100.0   20.0\n"
            "latency: got 315 MiB, then no more\n"
            "latency: broken\n");
}

TEST(Render, AMechanismThatIsNotThereHasAReasonAndNoFigures) {
  Comparison comparison{.device = {.name = "GPU"}};
  comparison.results.push_back({.mechanism = Mechanism::kMps, .unavailable = "nobody answers"});
  const json rendered = json::parse(render_json(comparison));
  EXPECT_EQ(rendered["mechanisms"][0], json::parse(R"({"mechanism": "mps", "available": false,
                                                   "reason": "nobody answers"})"));
  const std::string table = render_table(comparison);
  EXPECT_NE(table.find("\nmps: not available: nobody answers\n"), std::string::npos);
}

}  // namespace
}  // namespace tranche::load::load_test
