#include "cli/report/view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::cli::report_view_test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::uint64_t kMib = 1U << 20U;

fleet::Fleet some() {
  fleet::Fleet fleet{.taken_at = cluster::WallTime(std::chrono::hours(100))};
  fleet.capacity = {{.resource = "nvidia.com/gpu",
                     .mechanism = usage::Mechanism::kTimeSlicing,
                     .advertised = 4,
                     .allocated = 3,
                     .free = 1,
                     .pending = 2}};
  fleet.waiting = {{.ns = "a",
                    .pod = "old",
                    .since = cluster::WallTime(std::chrono::hours(97)),
                    .wants = {{"nvidia.com/gpu", 2}},
                    .cause = fleet::Cause::kNotEnough,
                    .message = "0/1 nodes\x1b[31m"},
                   {.cause = fleet::Cause::kNotEnough, .message = ""}};
  fleet.nodes = {{.name = "n1", .reporting = fleet::Reporting::kFresh},
                 {.name = "n2", .why = "no answer", .closed = "cordoned"}};
  fleet.nodes[0].usage.containers = {
      {.ns = "a",
       .pod = "full",
       .container = "c",
       .memory_used = 95 * kMib,
       .memory_limit = 100 * kMib},
      {.ns = "a",
       .pod = "roomy",
       .container = "c",
       .memory_used = 5 * kMib,
       .memory_limit = 100 * kMib},
      {.ns = "a", .pod = "unknown", .container = "c", .memory_limit = 100 * kMib}};
  return fleet;
}

TEST(ReportView, EachQuestionHasItsPart) {
  const auto text = report_text(some(), {});
  EXPECT_THAT(text, HasSubstr("nvidia.com/gpu  time-slicing  -     4           3          0"));
  EXPECT_THAT(text, HasSubstr("not-enough  2     3h      a/old  2 nvidia.com/gpu  0/1 nodes?[31m"));
  EXPECT_THAT(text, HasSubstr("a/full  c          n1    95 MiB  100 MiB  95%"));
  EXPECT_THAT(text, Not(HasSubstr("roomy")));
  EXPECT_THAT(text, HasSubstr("1 of 2 nodes reporting"));
  EXPECT_THAT(text, HasSubstr("n2    silent     no answer  cordoned"));
}

TEST(ReportView, WhoUsesAGpuWithoutAGrant) {
  EXPECT_THAT(report_text(some(), {}), Not(HasSubstr("without a grant")));
  auto fleet = some();
  auto& stranger = fleet.nodes[0].usage.containers[2];
  stranger.mechanism = usage::Mechanism::kNone;
  stranger.pod = "stranger";
  stranger.gpu = "GPU-1";
  const auto text = report_text(fleet, {});
  EXPECT_THAT(text, HasSubstr("Containers that use a GPU without a grant\n"));
  EXPECT_THAT(text, HasSubstr("a/stranger  c          n1    GPU-1  unknown"));
}

TEST(ReportView, UnknownIsNotNone) {
  auto fleet = some();
  fleet.nodes[0].usage.containers.resize(3);
  fleet.nodes[0].usage.containers.erase(fleet.nodes[0].usage.containers.begin(),
                                        fleet.nodes[0].usage.containers.begin() + 2);
  EXPECT_THAT(report_text(fleet, {}), HasSubstr("unknown: of no container"));
  EXPECT_THAT(report_text(some(), {.near = 99}), HasSubstr("99 % of their memory or more: none"));
}

TEST(ReportView, ALongListIsCut) {
  fleet::Fleet fleet;
  for (int i = 0; i < 1000; ++i) fleet.nodes.push_back({.name = std::to_string(i), .why = "x"});
  const auto text = report_text(fleet, {});
  EXPECT_LT(text.size(), 5000U);
  EXPECT_THAT(text, HasSubstr("and 950 more"));
}

}  // namespace
}  // namespace tranche::cli::report_view_test
