// What a page of metrics costs (docs/decisions/0060-metrics-page.md). Bound: with 8 GPUs of 48
// containers each well below 3 ms. `bytes` is the page's size.

#include <benchmark/benchmark.h>

#include <limits>

#include "metrics/page.h"
#include "support/node_figures.h"

namespace tranche::metrics {
namespace {

// Arguments: GPUs, containers of each, whether in OpenMetrics.
void pages(benchmark::State& state) {
  const NodeFigures figures =
      test::shared_node(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)));
  const PageOptions options{
      .format = state.range(2) == 0 ? Format::kPrometheusText : Format::kOpenMetrics,
      .max_series = std::numeric_limits<std::size_t>::max(),
      .version = "0.1.0"};
  std::size_t bytes = 0;
  for (auto _ : state) bytes = page(figures, options).size();
  state.counters["bytes"] = static_cast<double>(bytes);
}
// 48 and 160 containers on each GPU, then on all GPUs together.
BENCHMARK(pages)
    ->Args({8, 48, 0})
    ->Args({8, 48, 1})
    ->Args({16, 160, 0})
    ->Args({16, 160, 1})
    ->Args({8, 6, 0})
    ->Args({16, 10, 0})
    ->Unit(benchmark::kMicrosecond);

// Beyond the limit: 16 GPUs of 160 containers, of which most do not fit.
void limited_pages(benchmark::State& state) {
  const NodeFigures figures = test::shared_node(16, 160);
  std::size_t bytes = 0;
  for (auto _ : state) bytes = page(figures, {.version = "0.1.0"}).size();
  state.counters["bytes"] = static_cast<double>(bytes);
}
BENCHMARK(limited_pages)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace tranche::metrics
