#include "controller/web/fleet_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::controller::fleet_metrics_test {
namespace {

using testing::HasSubstr;
using testing::Not;
using usage::Mechanism;

cluster::WallTime at(int seconds) { return cluster::WallTime(std::chrono::seconds(seconds)); }

FleetFigures some() {
  FleetFigures figures;
  figures.tally.capacity = {{.resource = "nvidia.com/gpu",
                             .mechanism = Mechanism::kMps,
                             .tier = "gold",
                             .advertised = 8,
                             .allocated = 3,
                             .withheld = 1,
                             .free = 4}};
  figures.tally.pending = {{.ns = "a",
                            .resource = "nvidia.com/gpu",
                            .mechanism = Mechanism::kMps,
                            .cause = fleet::Cause::kNotEnough,
                            .pods = 2,
                            .oldest = at(100)},
                           {.ns = "b\"\n", .resource = "nvidia.com/x", .pods = 1}};
  figures.tally.namespaces = {
      {.ns = "a", .resource = "nvidia.com/gpu", .allocated = 3, .pending = 2}};
  figures.tally.rejected = {
      {.reason = "TopologyAffinityError", .node = "n", .product = "L20", .pods = 5}};
  figures.tiers["gold"] = {.name = "gold", .max_wait_seconds = 60};
  figures.tiers["free"] = {.name = "free"};
  return figures;
}

TEST(FleetMetrics, EachSeries) {
  const auto page = fleet_page(some(), {.now = at(160)});
  for (const auto* const line : {
           "tranche_controller_leads 1\n",
           "tranche_capacity_tranches{resource=\"nvidia.com/gpu\",mechanism=\"mps\",tier=\"gold\","
           "state=\"advertised\"} 8\n",
           "state=\"free\"} 4\n",
           "tranche_tier_max_wait_seconds{tier=\"gold\"} 60\n",
           "tranche_pending_pods{namespace=\"a\",resource=\"nvidia.com/gpu\",mechanism=\"mps\","
           "cause=\"not-enough\"} 2\n",
           "tranche_pending_oldest_seconds{namespace=\"a\",resource=\"nvidia.com/gpu\","
           "mechanism=\"mps\",cause=\"not-enough\"} 60\n",
           "tranche_pending_pods{namespace=\"b\\\"\\n\",resource=\"nvidia.com/x\","
           "cause=\"unknown\"} 1\n",
           "tranche_namespace_tranches{namespace=\"a\",resource=\"nvidia.com/gpu\","
           "state=\"pending\"} 2\n",
           "tranche_rejected_pods{reason=\"TopologyAffinityError\",node=\"n\",product=\"L20\"} 5\n",
           "tranche_series_dropped 0\n",
       }) {
    EXPECT_THAT(page, HasSubstr(line));
  }
  EXPECT_THAT(page, Not(HasSubstr("tier=\"free\"")));
  EXPECT_THAT(page, Not(HasSubstr("tranche_pending_oldest_seconds{namespace=\"b")))
      << "when it was made is not known";
}

TEST(FleetMetrics, NodesOnlyWhileAgentsAreAsked) {
  auto figures = some();
  EXPECT_THAT(fleet_page(figures, {.now = at(0)}), Not(HasSubstr("tranche_nodes")));
  figures.nodes = {{fleet::Reporting::kStale, 2}};
  const auto page = fleet_page(figures, {.now = at(0)});
  EXPECT_THAT(page, HasSubstr("tranche_nodes{reporting=\"fresh\"} 0\n"));
  EXPECT_THAT(page, HasSubstr("tranche_nodes{reporting=\"stale\"} 2\n"));
}

TEST(FleetMetrics, WhatDoesNotFitIsCounted) {
  FleetFigures figures;
  for (int i = 0; i < 100; ++i) {
    figures.tally.namespaces.push_back({.ns = std::to_string(i), .resource = "nvidia.com/gpu"});
  }
  const auto page = fleet_page(figures, {.now = at(0), .max_series = 52});
  EXPECT_THAT(page, HasSubstr("tranche_series_dropped 150\n"));
}

TEST(FleetMetrics, WhoFollowsHasNoSeriesOfTheCluster) {
  const auto page = following_page(metrics::Format::kOpenMetrics);
  EXPECT_THAT(page, HasSubstr("tranche_controller_leads 0\n# EOF"));
}

}  // namespace
}  // namespace tranche::controller::fleet_metrics_test
