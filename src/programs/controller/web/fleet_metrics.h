#pragma once
// The page of /metrics that the controller serves: the cluster's capacity, and who waits for it
// (docs/metrics.md). Pure.

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "cluster/formats/gpu_tier.h"
#include "fleet/make_fleet.h"
#include "fleet/tally.h"
#include "metrics/format.h"

namespace tranche::controller {

struct FleetFigures {
  fleet::Tally tally;
  std::map<std::string, cluster::GpuTier> tiers{};
  // Nodes by whether their agent reports; nullopt: agents are not asked at the moment.
  std::optional<std::map<fleet::Reporting, std::size_t>> nodes{};
};

struct FleetPageOptions {
  cluster::WallTime now;
  metrics::Format format = metrics::Format::kPrometheusText;
  // Rows of the capacity and of tiers are always written. What does not fit is counted.
  std::size_t max_series = 10'000;
};

std::string fleet_page(const FleetFigures& figures, const FleetPageOptions& options);
// Of a controller that does not lead: the one that leads has the series of the cluster.
std::string following_page(metrics::Format format);

}  // namespace tranche::controller
