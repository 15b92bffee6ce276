#include "cli/report/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/amounts.h"
#include "base/printable.h"
#include "cli/shell/output.h"

namespace tranche::cli {
namespace {

using Rows = std::vector<std::vector<std::string>>;

constexpr std::size_t kLongestName = 80;
constexpr std::size_t kMostRows = 50;  // of a list that can be long

std::string name(const std::string& text) {
  return text.empty() ? "-" : printable(text, kLongestName);
}

std::string pod_name(const std::string& ns, const std::string& pod) {
  return pod.empty() ? "(others')" : printable(ns + '/' + pod, 2 * kLongestName);
}

std::string age(cluster::WallTime since, cluster::WallTime now) {
  if (since == cluster::WallTime()) return "unknown";
  return age_text(std::chrono::duration_cast<std::chrono::seconds>(now - since).count());
}

// A table below its title, or why there is none. The first row is the head.
std::string part(const std::string& title, Rows rows, const std::string& without) {
  if (rows.size() <= 1) return fmt::format("{}: {}\n", title, without);
  const auto left_out = rows.size() > kMostRows + 1 ? rows.size() - kMostRows - 1 : 0;
  rows.resize(rows.size() - left_out);
  auto text = fmt::format("{}\n{}", title, aligned(rows));
  if (left_out > 0) text += fmt::format("and {} more\n", left_out);
  return text;
}

std::string capacity(const fleet::Fleet& fleet) {
  Rows rows = {
      {"RESOURCE", "MECHANISM", "TIER", "ADVERTISED", "ALLOCATED", "WITHHELD", "FREE", "PENDING"}};
  for (const auto& row : fleet.capacity) {
    rows.push_back({name(row.resource), std::string(usage::to_string(row.mechanism)),
                    name(row.tier), std::to_string(row.advertised), std::to_string(row.allocated),
                    std::to_string(row.withheld), std::to_string(row.free),
                    std::to_string(row.pending)});
  }
  return part("Capacity", std::move(rows), "no node has GPUs");
}

// Pods by cause, with the one that has waited longest.
std::string waiting(const fleet::Fleet& fleet) {
  struct Group {
    std::size_t pods = 0;
    const fleet::WaitingPod* oldest = nullptr;
  };
  std::map<fleet::Cause, Group> groups;
  for (const auto& pod : fleet.waiting) {
    auto& group = groups[pod.cause];
    ++group.pods;
    const bool known = pod.since != cluster::WallTime();
    const bool none = group.oldest == nullptr || group.oldest->since == cluster::WallTime();
    if (group.oldest == nullptr || (known && (none || pod.since < group.oldest->since))) {
      group.oldest = &pod;
    }
  }
  Rows rows = {{"CAUSE", "PODS", "OLDEST", "POD", "WANTS", "MESSAGE"}};
  for (const auto& [cause, group] : groups) {
    const auto& pod = *group.oldest;
    std::string wants;
    for (const auto& wish : pod.wants) {
      wants += fmt::format("{}{} {}", wants.empty() ? "" : ", ", wish.count, name(wish.resource));
    }
    rows.push_back({std::string(fleet::to_string(cause)), std::to_string(group.pods),
                    age(pod.since, fleet.taken_at), pod_name(pod.ns, pod.pod),
                    wants.empty() ? "-" : wants, name(pod.message)});
  }
  return part("Waiting Pods", std::move(rows), "none");
}

struct Near {
  double part = 0;
  std::vector<std::string> row;
};

std::string near_limit(const fleet::Fleet& fleet, int percent) {
  std::vector<Near> found;
  std::size_t known = 0;
  for (const auto& node : fleet.nodes) {
    for (const auto& one : node.usage.containers) {
      if (!one.memory_used || one.memory_limit.value_or(0) == 0) continue;
      ++known;
      const auto used =
          100.0 * static_cast<double>(*one.memory_used) / static_cast<double>(*one.memory_limit);
      if (used < percent) continue;
      found.push_back({used,
                       {pod_name(one.ns, one.pod), name(one.container), name(node.name),
                        size_text(*one.memory_used), size_text(*one.memory_limit),
                        fmt::format("{:.0f}%", used)}});
    }
  }
  std::ranges::stable_sort(found, std::ranges::greater(), &Near::part);
  Rows rows = {{"POD", "CONTAINER", "NODE", "USED", "LIMIT", "OF IT"}};
  for (auto& one : found) rows.push_back(std::move(one.row));
  return part(fmt::format("Containers at {} % of their memory or more", percent), std::move(rows),
              known > 0 ? "none" : "unknown: of no container are use and limit known");
}

// Empty: there is none, as it should be.
std::string without_grant(const fleet::Fleet& fleet) {
  Rows rows = {{"POD", "CONTAINER", "NODE", "GPU", "USED"}};
  for (const auto& node : fleet.nodes) {
    for (const auto& one : node.usage.containers) {
      if (one.mechanism != usage::Mechanism::kNone) continue;
      rows.push_back({pod_name(one.ns, one.pod), name(one.container), name(node.name),
                      name(one.gpu), one.memory_used ? size_text(*one.memory_used) : "unknown"});
    }
  }
  if (rows.size() <= 1) return {};
  return part("Containers that use a GPU without a grant", std::move(rows), "none") + '\n';
}

std::string nodes(const fleet::Fleet& fleet) {
  Rows rows = {{"NODE", "REPORTING", "WHY NOT", "CLOSED"}};
  std::size_t fresh = 0;
  for (const auto& node : fleet.nodes) {
    const bool reports = node.reporting == fleet::Reporting::kFresh;
    if (reports) ++fresh;
    if (reports && node.closed.empty()) continue;
    rows.push_back({name(node.name), std::string(fleet::to_string(node.reporting)), name(node.why),
                    name(node.closed)});
  }
  return part(fmt::format("{} of {} nodes reporting", fresh, fleet.nodes.size()), std::move(rows),
              "all are open");
}

}  // namespace

std::string report_text(const fleet::Fleet& fleet, const ReportView& view) {
  return capacity(fleet) + '\n' + waiting(fleet) + '\n' + near_limit(fleet, view.near) + '\n' +
         without_grant(fleet) + nodes(fleet);
}

}  // namespace tranche::cli
