#pragma once
// Series of our own about the node: where each GPU's memory is, tranches, whether the sources of
// attribution work, how old the readings are. Pure.

#include <cstddef>
#include <string_view>

#include "metrics/exposition.h"
#include "metrics/node_figures.h"

namespace tranche::metrics {

// Adds them to `out`, and returns how many were left out: what is there twice, and the memory of a
// GPU whose parts do not add up to its total, of which tranche_gpu_memory_bytes would be a lie.
std::size_t write_node_series(Exposition& out, const NodeFigures& figures,
                              std::string_view version);

// tranche_series_dropped, once all others are written.
void write_dropped(Exposition& out, const NodeFigures& figures, std::size_t dropped);

}  // namespace tranche::metrics
