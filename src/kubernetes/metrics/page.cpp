#include "metrics/page.h"

#include <utility>

#include "metrics/container_series.h"
#include "metrics/exposition.h"
#include "metrics/node_series.h"

namespace tranche::metrics {

std::string page(const NodeFigures& figures, const PageOptions& options) {
  Exposition out(options.format);
  write_device_series(out, figures, options.names);
  std::size_t dropped = write_node_series(out, figures, options.version);
  const std::size_t taken = out.lines() + 1;  // with tranche_series_dropped
  const std::size_t left = options.max_series > taken ? options.max_series - taken : 0;
  dropped += write_container_series(out, figures, left);
  write_dropped(out, figures, dropped);
  return std::move(out).finish();
}

}  // namespace tranche::metrics
