#include "metrics/container_series.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace tranche::metrics {
namespace {

using Reader = std::optional<Value> (*)(const usage::ContainerFigures&);

struct ContainerFamily {
  Family family;
  Reader read;
};

std::optional<Value> count(std::optional<std::uint64_t> figure) {
  if (!figure) return std::nullopt;
  return whole(*figure);
}

std::optional<Value> duration(std::optional<std::chrono::nanoseconds> figure) {
  return figure ? seconds(*figure) : std::nullopt;
}

std::optional<Value> ratio(std::optional<double> figure) {
  if (!figure || !std::isfinite(*figure)) return std::nullopt;
  return *figure;
}

constexpr auto kContainerFamilies = std::to_array<ContainerFamily>({
    {{"tranche_container_attributed", Type::kGauge,
      "Whether the container's processes are told apart from others'. 0: what it uses is unknown."},
     [](const usage::ContainerFigures& c) {
       return std::optional<Value>(whole(c.attributed ? 1 : 0));
     }},
    {{"tranche_container_processes", Type::kGauge, "Its processes that use the device."},
     [](const usage::ContainerFigures& c) { return count(c.processes); }},
    {{"tranche_container_memory_used_bytes", Type::kGauge, "GPU memory that it uses.", "bytes"},
     [](const usage::ContainerFigures& c) { return count(c.memory_used); }},
    {{"tranche_container_memory_peak_bytes", Type::kGauge,
      "The most GPU memory that it used since the agent started.", "bytes"},
     [](const usage::ContainerFigures& c) { return count(c.memory_peak); }},
    {{"tranche_container_memory_limit_bytes", Type::kGauge,
      "GPU memory that it may use. Absent: all of the device's.", "bytes"},
     [](const usage::ContainerFigures& c) { return count(c.memory_limit); }},
    {{"tranche_container_compute_seconds_total", Type::kCounter,
      "GPU time that it used, as charged by the arbiter.", "seconds"},
     [](const usage::ContainerFigures& c) { return duration(c.compute); }},
    {{"tranche_container_compute_estimated_seconds_total", Type::kCounter,
      "GPU time that it used, estimated from the driver's samples.", "seconds"},
     [](const usage::ContainerFigures& c) { return duration(c.compute_estimated); }},
    {{"tranche_container_compute_asked_seconds_total", Type::kCounter,
      "GPU time that it asked for by its launches.", "seconds"},
     [](const usage::ContainerFigures& c) { return duration(c.compute_asked); }},
    {{"tranche_container_wait_seconds_total", Type::kCounter,
      "Time in which a thread of it waited for the GPU.", "seconds"},
     [](const usage::ContainerFigures& c) { return duration(c.waited); }},
    {{"tranche_container_launches_total", Type::kCounter, "Launches of kernels and graphs."},
     [](const usage::ContainerFigures& c) { return count(c.launches); }},
    {{"tranche_container_compute_promised_ratio", Type::kGauge,
      "Part of the device's time that it was promised.", "ratio"},
     [](const usage::ContainerFigures& c) { return ratio(c.compute_promised); }},
    {{"tranche_container_allocation_failures_total", Type::kCounter,
      "Requests for memory that its limit refused."},
     [](const usage::ContainerFigures& c) { return count(c.allocation_failures); }},
});

// One entry, and its labels: those of the container, and all.
struct Entry {
  const usage::ContainerFigures* figures = nullptr;
  std::string container;
  std::string labels;
};

Entry entry_of(const usage::ContainerFigures& c, const std::string& node) {
  LabelText labels;
  labels.add("namespace", c.ns).add("pod", c.pod).add("container", c.container);
  LabelText all = labels;
  all.add("resource", c.resource).add("mechanism", to_string(c.mechanism));
  all.add("tier", c.tier);
  all.add("gpu", c.gpu).add("device", c.device).add("mig_profile", c.mig_profile);
  return {&c, labels.add("node", node).text(), all.add("node", node).text()};
}

// The order of labels, not of figures: what the escape makes equal stands together.
std::vector<Entry> sorted_entries(const NodeFigures& figures) {
  std::vector<Entry> entries;
  entries.reserve(figures.containers.size());
  for (const auto& one : figures.containers) entries.push_back(entry_of(one, figures.node));
  std::ranges::stable_sort(entries, [](const Entry& a, const Entry& b) {
    return std::tie(a.container, a.labels) < std::tie(b.container, b.labels);
  });
  return entries;
}

std::size_t series_of(const Entry& entry) {
  return static_cast<std::size_t>(std::ranges::count_if(
      kContainerFamilies, [&](const auto& one) { return one.read(*entry.figures).has_value(); }));
}

// All entries of one container.
struct Container {
  std::span<const Entry> entries;
  double gpus = 0;
  bool is_given = false;  // any of it
  std::size_t series = 0;
};

Container container_of(std::span<const Entry> entries) {
  Container container{.entries = entries};
  for (const auto& one : entries) {
    container.gpus += one.figures->gpus;
    container.is_given = container.is_given || one.figures->mechanism != usage::Mechanism::kNone;
    container.series += series_of(one);
  }
  container.is_given = container.is_given && std::isfinite(container.gpus);
  if (container.is_given) ++container.series;
  return container;
}

std::vector<Container> containers_of(std::span<const Entry> entries) {
  std::vector<Container> containers;
  while (!entries.empty()) {
    const auto next = std::ranges::find_if(
        entries, [&](const Entry& one) { return one.container != entries.front().container; });
    const auto length = static_cast<std::size_t>(next - entries.begin());
    containers.push_back(container_of(entries.first(length)));
    entries = entries.subspan(length);
  }
  return containers;
}

// Removes entries whose labels another has, and returns how many series they were.
std::size_t remove_twins(std::vector<Entry>& entries) {
  std::size_t removed = 0;
  std::vector<Entry> kept;
  kept.reserve(entries.size());
  for (auto& one : entries) {
    if (!kept.empty() && kept.back().labels == one.labels) {
      removed += series_of(one);
    } else {
      kept.push_back(std::move(one));
    }
  }
  entries = std::move(kept);
  return removed;
}

// Removes the containers that do not fit, and returns how many series they were.
std::size_t remove_beyond(std::vector<Container>& containers, std::size_t most) {
  std::size_t kept = 0;
  for (; kept < containers.size() && containers[kept].series <= most; ++kept) {
    most -= containers[kept].series;
  }
  std::size_t removed = 0;
  for (std::size_t i = kept; i < containers.size(); ++i) removed += containers[i].series;
  containers.resize(kept);
  return removed;
}

void write_all(Exposition& out, const std::vector<Container>& containers) {
  for (const auto& [family, read] : kContainerFamilies) {
    out.family(family);
    for (const auto& container : containers) {
      for (const auto& one : container.entries) {
        if (const auto value = read(*one.figures)) out.line(one.labels, *value);
      }
    }
  }
  out.family({"container_gpu_allocation", Type::kGauge,
              "Physical GPUs that the container was given, in parts where it shares them."});
  for (const auto& container : containers) {
    if (container.is_given) out.line(container.entries.front().container, container.gpus);
  }
}

}  // namespace

std::size_t write_container_series(Exposition& out, const NodeFigures& figures, std::size_t most) {
  std::vector<Entry> entries = sorted_entries(figures);
  std::size_t left_out = remove_twins(entries);
  std::vector<Container> containers = containers_of(entries);
  left_out += remove_beyond(containers, most);
  write_all(out, containers);
  return left_out;
}

}  // namespace tranche::metrics
