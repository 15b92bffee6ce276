#include "agent/metrics/parts.h"

#include "agent/config/cluster_node.h"
#include "agent/holdings/holder_answers.h"
#include "agent/metrics/metrics_follower.h"
#include "agent/metrics/tiers_of_node.h"
#include "agent/node/pods_of_node.h"
#include "process/host_name.h"

namespace tranche::agent {
namespace {

// Accepted age of kubelet's answer to somebody else.
constexpr std::chrono::milliseconds kFresh{1500};

auto tiers_of(ClusterNode& cluster, const AgentContext& context) {
  const auto labels = [&cluster] {
    const auto node = cluster.node().node();
    return node ? std::optional(node->labels) : std::nullopt;
  };
  const auto tiers =
      std::make_shared<TiersOfNode>(cluster.objects(), labels, context.clock, context.log);
  return [tiers](std::vector<usage::ContainerFigures>& containers, const gpu::Machine& machine) {
    tiers->set(containers, machine);
  };
}

NodeSampler::Ports ports_of(const AgentContext& context) {
  auto& book = context.outside.book;
  const auto& node = context.options.node_name;
  NodeSampler::Ports ports{.telemetry = *context.outside.telemetry,
                           .processes = *context.outside.processes,
                           .book = book,
                           .ask_kubelet =
                               [&book, &holders = context.outside.holders] {
                                 return book.ask(holders, kFresh).has_value();
                               },
                           .pods = {},
                           .set_tiers = {},
                           .host = FsRoot(context.options.host_root),
                           .arbiter_dir = context.options.arbiter_state_dir,
                           .node = node.empty() ? process::host_name() : node,
                           .clock = context.clock};
  if (auto* const pods = context.outside.pods) ports.pods = [pods] { return pods->shared(); };
  if (auto* const cluster = context.outside.cluster) ports.set_tiers = tiers_of(*cluster, context);
  return ports;
}

}  // namespace

Parts metrics_parts(const AgentContext& context) {
  Parts parts;
  const auto& options = context.options.metrics;
  if (!options || context.outside.telemetry == nullptr) return parts;
  parts.followers.push_back(std::make_unique<MetricsFollower>(ports_of(context), *options,
                                                              context.outside.tell, context.log));
  return parts;
}

}  // namespace tranche::agent
