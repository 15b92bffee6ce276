#include "metrics/page.h"

#include <algorithm>
#include <utility>

#include "metrics/container_series.h"
#include "metrics/exposition.h"
#include "metrics/node_series.h"

namespace tranche::metrics {
namespace {

// Of a GPU with both generations of names, of an instance, and of a container on one device.
constexpr std::size_t kGpuSeries = 70;
constexpr std::size_t kInstanceSeries = 24;
constexpr std::size_t kContainerSeries = 10;
// A line with labels of usual length, but for the node's name, which is there at most twice.
constexpr std::size_t kLineBytes = 260;

// A little more than most pages have: what is set aside and not touched costs no memory.
std::size_t expected_bytes(const NodeFigures& figures, const PageOptions& options) {
  std::size_t series = kGpuSeries * (figures.gpus.size() + 1);
  for (const auto& one : figures.gpus) series += kInstanceSeries * one.gpu.mig_instances.size();
  series += std::min(kContainerSeries * figures.containers.size(), options.max_series);
  return series * (kLineBytes + 2 * figures.node.size());
}

}  // namespace

std::string page(const NodeFigures& figures, const PageOptions& options) {
  Exposition out(options.format, expected_bytes(figures, options));
  write_device_series(out, figures, options.names);
  std::size_t dropped = write_node_series(out, figures, options.version);
  const std::size_t taken = out.lines() + 1;  // with tranche_series_dropped
  const std::size_t left = options.max_series > taken ? options.max_series - taken : 0;
  dropped += write_container_series(out, figures, left);
  write_dropped(out, figures, dropped);
  return std::move(out).finish();
}

}  // namespace tranche::metrics
