#include "agent/metrics/usage_history.h"

#include <algorithm>
#include <utility>

namespace tranche::agent {

std::vector<usage::ContainerFigures> UsageHistory::take(
    std::vector<AttributedContainer> containers) {
  std::map<Key, Usage> usage;
  std::vector<usage::ContainerFigures> all;
  for (auto& [figures, busy] : containers) {
    const Key key{figures.ns, figures.pod, figures.container, figures.device, figures.resource};
    const auto before = usage_.find(key);
    Usage now = before == usage_.end() ? Usage() : before->second;
    if (figures.memory_used) now.peak = std::max(now.peak.value_or(0), *figures.memory_used);
    now.estimated += busy;
    figures.memory_peak = now.peak;
    // The driver samples no process of a MIG instance.
    const bool is_instance = figures.device != figures.gpu;
    if (figures.attributed && !figures.compute && !is_instance) {
      figures.compute_estimated = now.estimated;
    }
    usage.emplace(key, now);
    all.push_back(std::move(figures));
  }
  usage_ = std::move(usage);
  return all;
}

}  // namespace tranche::agent
