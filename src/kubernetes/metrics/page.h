#pragma once
// The page that an agent serves to Prometheus: figures of a node as text. Pure. The order
// of the figures does not matter, but for entries with the same labels, of which the first counts.

#include <cstddef>
#include <string>
#include <string_view>

#include "metrics/device_series.h"
#include "metrics/format.h"
#include "metrics/node_figures.h"

namespace tranche::metrics {

struct PageOptions {
  DcgmNames names = DcgmNames::kBoth;
  Format format = Format::kPrometheusText;
  // Series of devices and of the node are always written: the hardware bounds them. Containers get
  // what is left (metrics/container_series.h); tranche_series_dropped says what does not fit.
  std::size_t max_series = 10'000;
  std::string_view version{};  // of the agent: "0.1.0"
};

std::string page(const NodeFigures& figures, const PageOptions& options);

}  // namespace tranche::metrics
