#include "fleet/make_fleet.h"

#include <fmt/format.h>

#include <utility>

#include "fleet/node_count.h"
#include "fleet/node_view.h"

namespace tranche::fleet {
namespace {

usage::NodeUsage silent_view(const Facts& facts, const std::string& name) {
  const auto found = facts.gpu_nodes.find(name);
  auto view = found == facts.gpu_nodes.end() ? usage::NodeUsage() : view_of(found->second);
  view.node = name;
  return view;
}

// Processes are of the node alone: nobody shows them for a whole cluster.
usage::NodeUsage without_processes(const usage::NodeUsage& usage) {
  return {.node = usage.node,
          .taken_at = usage.taken_at,
          .agent = usage.agent,
          .driver_version = usage.driver_version,
          .gpus = usage.gpus,
          .containers = usage.containers,
          .tranches = usage.tranches,
          .checks = usage.checks,
          .age = usage.age};
}

// A node's agent speaks of its own Pods: whoever has taken over a node gives no figures to Pods of
// others.
void leave_out_others(const Facts& facts, FleetNode& node) {
  const auto left_out = std::erase_if(node.usage.containers, [&](const auto& one) {
    const auto pod = facts.pods.find({one.ns, one.pod});
    return pod != facts.pods.end() && pod->second.node != node.name;
  });
  if (left_out == 0) return;
  if (!node.why.empty()) node.why += "; ";
  node.why +=
      fmt::format("it tells of {} containers that run elsewhere, which are left out", left_out);
}

FleetNode node_of(const Facts& facts, const std::string& name, const Report& report) {
  const auto node = facts.nodes.find(name);
  FleetNode made{.name = name,
                 .reporting = report.reporting,
                 .why = report.why,
                 .closed = closed_of(node == facts.nodes.end() ? nullptr : &node->second)};
  if (report.usage == nullptr) made.reporting = Reporting::kSilent;
  made.usage =
      report.usage == nullptr ? silent_view(facts, name) : without_processes(*report.usage);
  leave_out_others(facts, made);
  return made;
}

}  // namespace

Fleet make_fleet(const Facts& facts, const Reports& reports, cluster::WallTime now,
                 const std::string& otherwise) {
  auto counted = tally(facts);
  Fleet fleet{.cluster = facts.cluster,
              .taken_at = std::chrono::floor<std::chrono::milliseconds>(now),
              .capacity = std::move(counted.capacity),
              .namespaces = std::move(counted.namespaces),
              .waiting = std::move(counted.waiting)};
  for (const auto& name : gpu_nodes_of(facts)) {
    const auto found = reports.find(name);
    fleet.nodes.push_back(
        node_of(facts, name, found == reports.end() ? Report{.why = otherwise} : found->second));
  }
  return fleet;
}

}  // namespace tranche::fleet
