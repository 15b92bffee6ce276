#include "agent/gpunode/parts.h"

#include <utility>

#include "agent/config/cluster_node.h"
#include "agent/gpunode/gpu_node_follower.h"
#include "agent/holdings/holder_answers.h"
#include "agent/node/pods_of_node.h"

namespace tranche::agent {
namespace {

// Accepted age of kubelet's answer to somebody else.
constexpr std::chrono::seconds kFresh{1};

Result<cluster::OwnerReference> owner_of(const NodeView& view) {
  ASSIGN_OR_RETURN(const auto node, view.known());
  return cluster::OwnerReference{
      .api_version = "v1", .kind = "Node", .name = node.name, .uid = node.uid};
}

StatusSource::Parts source_of(const AgentContext& context) {
  auto& book = context.outside.book;
  StatusSource::Parts source{.book = book,
                             .ask =
                                 [&book, &holders = context.outside.holders] {
                                   // Without an answer the names come with a later write.
                                   static_cast<void>(book.ask(holders, kFresh));
                                 },
                             .driver_name = context.options.dra_driver_name};
  if (auto* const pods = context.outside.pods) source.pods = [pods] { return pods->all(); };
  return source;
}

}  // namespace

Parts gpunode_parts(const AgentContext& context) {
  Parts parts;
  auto* const cluster = context.outside.cluster;
  if (!context.options.gpu_node || cluster == nullptr) return parts;
  const auto owner = [&view = cluster->node()] { return owner_of(view); };
  parts.followers.push_back(std::make_unique<GpuNodeFollower>(GpuNodeFollower::Parts{
      .object = GpuNodeObject(cluster->objects(), context.options.node_name, owner),
      .source = source_of(context),
      .clock = context.clock,
      .log = context.log}));
  return parts;
}

}  // namespace tranche::agent
