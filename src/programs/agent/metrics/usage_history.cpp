#include "agent/metrics/usage_history.h"

#include <algorithm>
#include <utility>

namespace tranche::agent {

std::vector<usage::ContainerFigures> UsageHistory::take(std::vector<AttributedContainer> containers,
                                                        std::chrono::steady_clock::time_point now) {
  std::map<Key, Usage> usage;
  std::vector<usage::ContainerFigures> all;
  for (auto& [figures, busy] : containers) {
    const Key key{figures.ns, figures.pod, figures.container, figures.device, figures.resource};
    const auto before = usage_.find(key);
    Usage last = before == usage_.end() ? Usage() : before->second;
    if (figures.memory_used) last.peak = std::max(last.peak.value_or(0), *figures.memory_used);
    last.estimated += busy;
    figures.memory_peak = last.peak;
    // The driver samples no process of a MIG instance.
    const bool is_instance = figures.device != figures.gpu;
    if (figures.attributed && !figures.compute && !is_instance) {
      figures.compute_estimated = last.estimated;
    }
    add_shares(figures, last, now);
    usage.emplace(key, last);
    all.push_back(std::move(figures));
  }
  usage_ = std::move(usage);
  return all;
}

void UsageHistory::add_shares(usage::ContainerFigures& figures, Usage& usage,
                              std::chrono::steady_clock::time_point now) {
  const auto& compute = figures.compute ? figures.compute : figures.compute_estimated;
  if (compute) {
    // The two are not the same time.
    const bool is_estimate = !figures.compute;
    if (usage.is_estimate != is_estimate) usage.compute = {};
    usage.is_estimate = is_estimate;
    usage.compute.add(now, *compute);
    figures.compute_share = usage.compute.share();
  }
  if (figures.waited) {
    usage.waited.add(now, *figures.waited);
    figures.waited_share = usage.waited.share();
  }
}

}  // namespace tranche::agent
