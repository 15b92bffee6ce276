#pragma once
// The figures of this node as usage/v1 has them (usage/node_usage.h). Pure.

#include <chrono>
#include <string>

#include "metrics/node_figures.h"
#include "usage/node_usage.h"

namespace tranche::agent {

// `now`: when the figures' ages were taken. `version`: the agent's.
usage::NodeUsage node_usage_of(const metrics::NodeFigures& figures,
                               std::chrono::system_clock::time_point now, std::string version);

}  // namespace tranche::agent
