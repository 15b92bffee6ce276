#include "fleet/make_fleet.h"

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

FleetNode node_of(const Facts& facts, const std::string& name, const Report& report) {
  const auto node = facts.nodes.find(name);
  FleetNode made{.name = name,
                 .reporting = report.reporting,
                 .why = report.why,
                 .closed = closed_of(node == facts.nodes.end() ? nullptr : &node->second)};
  if (report.usage == nullptr) made.reporting = Reporting::kSilent;
  made.usage =
      report.usage == nullptr ? silent_view(facts, name) : without_processes(*report.usage);
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
