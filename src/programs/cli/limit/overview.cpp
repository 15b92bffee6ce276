#include "cli/limit/overview.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "cli/limit/order.h"
#include "cluster/client/list_of.h"

namespace tranche::cli {
namespace {

using cluster::LimitOutcome;
using cluster::LimitSetting;

// The Nodes that have an order, by name.
Result<std::vector<cluster::Node>> nodes_with_orders(cluster::Objects& objects,
                                                     const cluster::Call& call) {
  ASSIGN_OR_RETURN(auto nodes,
                   cluster::list_of(objects, cluster::kNode, {}, cluster::parse_node, call));
  std::erase_if(nodes, [](const cluster::Node& node) {
    return !node.annotations.contains(cluster::kLimitSettingsAnnotation);
  });
  std::ranges::sort(nodes, {}, &cluster::Node::name);
  return nodes;
}

std::string about(const ListedLimit& listed) {
  const auto& setting = listed.outcome.setting;
  return fmt::format("Pod {}/{}, container {}, {}: {}: {}", setting.ns, setting.pod,
                     setting.container, setting.resource, to_string(listed.outcome.state),
                     listed.outcome.message);
}

}  // namespace

Result<LimitOverview> list_limits(cluster::Objects& objects, const std::string& ns,
                                  const std::stop_token& stop) {
  const cluster::Call call{.stop = stop};
  ASSIGN_OR_RETURN(const auto nodes, nodes_with_orders(objects, call));
  LimitOverview overview;
  std::vector<std::string> findings;
  std::size_t gone = 0;
  for (const auto& node : nodes) {
    auto settings = settings_of(node);
    if (!settings) {
      findings.push_back(settings.error().message());
      continue;
    }
    std::erase_if(*settings, [&](const auto& one) { return !ns.empty() && one.ns != ns; });
    ASSIGN_OR_RETURN(const auto taken, take_gone(*settings, node.name, objects, call));
    for (const auto& setting : *settings) {
      overview.limits.push_back({node.name, answer_or_none(setting, node)});
      const auto& last = overview.limits.back();
      if (last.outcome.state != LimitOutcome::State::kHolds) findings.push_back(about(last));
    }
    for (const auto& setting : taken) {
      overview.limits.push_back({node.name, {.setting = setting, .devices = {}}, true});
    }
    gone += taken.size();
  }
  if (gone > 0) {
    findings.push_back(fmt::format(
        "{} of the settings {} of Pods that are gone, and {} nothing; tranche limit prune takes "
        "them away",
        gone, gone == 1 ? "is" : "are", gone == 1 ? "does" : "do"));
  }
  overview.finding = fmt::format("{}", fmt::join(findings, "\n"));
  return overview;
}

Result<LimitOverview> prune_limits(cluster::Objects& objects, const std::stop_token& stop) {
  const cluster::Call call{.stop = stop};
  ASSIGN_OR_RETURN(const auto nodes, nodes_with_orders(objects, call));
  LimitOverview overview;
  std::vector<std::string> findings;
  for (const auto& node : nodes) {
    if (const auto settings = settings_of(node); !settings) {
      findings.push_back(settings.error().message());
      continue;
    }
    ASSIGN_OR_RETURN(const auto gone, write_order(objects, node.name, call, {}));
    for (const auto& setting : gone) {
      overview.limits.push_back({node.name, {.setting = setting, .devices = {}}, true});
    }
  }
  overview.finding = fmt::format("{}", fmt::join(findings, "\n"));
  return overview;
}

}  // namespace tranche::cli
