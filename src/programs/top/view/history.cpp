#include "top/view/history.h"

#include <algorithm>
#include <utility>

namespace tranche::top {
namespace {

// As floating point: times come from outside, and may be centuries apart.
double seconds_between(std::chrono::system_clock::time_point a,
                       std::chrono::system_clock::time_point b) {
  using Seconds = std::chrono::duration<double>;
  return (Seconds(b.time_since_epoch()) - Seconds(a.time_since_epoch())).count();
}

}  // namespace

std::string gpu_id(const std::string& node, const std::string& uuid) { return node + '\n' + uuid; }

std::string container_id(const std::string& node, const usage::ContainerFigures& container) {
  std::string id = node;
  for (const auto* part : {&container.device, &container.ns, &container.pod, &container.container,
                           &container.resource}) {
    (id += '\n') += *part;
  }
  return id;
}

void History::add(const Reading& reading) {
  const auto now = reading.fleet.taken_at;
  // Readings of a replay that begins again, or of a clock that was set back.
  if (now < now_) rows_.clear();
  now_ = now;
  ++reading_;
  for (const auto& node : reading.fleet.nodes) {
    for (const auto& gpu : node.usage.gpus) add(gpu_id(node.name, gpu.uuid), gpu.utilization);
    for (const auto& container : node.usage.containers) {
      add(container_id(node.name, container), container.compute_share);
    }
  }
  std::erase_if(rows_, [&](const auto& entry) { return entry.second.reading != reading_; });
}

void History::add(const std::string& id, std::optional<double> value) {
  auto found = rows_.find(id);
  if (found == rows_.end()) {
    if (rows_.size() >= kMostRows) return;
    found = rows_.emplace(id, Row()).first;
  }
  auto& row = found->second;
  row.reading = reading_;
  row.points.push_back({now_, value});
  while (row.points.size() > kMostPoints ||
         seconds_between(row.points.front().at, now_) > static_cast<double>(kSpan.count())) {
    row.points.pop_front();
  }
}

std::vector<std::optional<double>> History::of(const std::string& id, std::size_t parts) const {
  std::vector<std::optional<double>> means(parts);
  const auto found = rows_.find(id);
  if (found == rows_.end() || parts == 0) return means;
  std::vector<std::pair<double, int>> sums(parts);
  for (const auto& point : found->second.points) {
    if (!point.value) continue;
    const double part = seconds_between(point.at, now_) / static_cast<double>(kSpan.count()) *
                        static_cast<double>(parts);
    const auto back = std::min(parts - 1, static_cast<std::size_t>(part));
    auto& [sum, count] = sums[parts - 1 - back];
    sum += *point.value;
    ++count;
  }
  for (std::size_t i = 0; i < parts; ++i) {
    if (sums[i].second > 0) means[i] = sums[i].first / sums[i].second;
  }
  return means;
}

}  // namespace tranche::top
