#include "controller/serving_nodes.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "cluster/formats/reasons.h"
#include "cluster/node.h"
#include "cluster/pod.h"
#include "controller/gpu_nodes.h"

namespace tranche::controller {
namespace {

// Why the node does not serve; nullopt: it does not report that.
std::optional<std::string> reason_of(const cluster::CacheChange& change) {
  if (change.type == cluster::ChangeType::kDeleted) return std::nullopt;
  const auto node = cluster::parse_node(change.object.json);
  if (!node) return std::nullopt;
  const auto found = std::ranges::find(node->conditions, cluster::condition::kTrancheServing,
                                       &cluster::NodeCondition::type);
  if (found == node->conditions.end() || found->status != "False") return std::nullopt;
  return found->reason;
}

}  // namespace

ServingNodes::ServingNodes(const WorkerContext& context, std::function<void()> notify)
    : notify_(std::move(notify)),
      cache_(context.watches, gpu_nodes(),
             [this](const cluster::CacheChange& change) { take(change); }) {}

NodeReasons ServingNodes::not_serving() const {
  const std::scoped_lock lock(mutex_);
  return not_serving_;
}

// Kubelets write their Nodes all the time: only changes that matter here notify.
void ServingNodes::take(const cluster::CacheChange& change) {
  if (change.type == cluster::ChangeType::kSynced) return notify_();
  const auto reason = reason_of(change);
  const auto& node = change.object.key.name;
  {
    const std::scoped_lock lock(mutex_);
    auto after = not_serving_;
    if (reason) {
      after[node] = *reason;
    } else {
      after.erase(node);
    }
    if (after == not_serving_) return;
    not_serving_ = std::move(after);
  }
  notify_();
}

Result<NodeReasons> with_ready_pod(cluster::Objects& objects, const cluster::DaemonSet& agents,
                                   const NodeReasons& nodes, const cluster::Call& call) {
  NodeReasons ready;
  if (nodes.empty()) return ready;
  ASSIGN_OR_RETURN(
      const auto pods,
      objects.list(cluster::kPod, {.ns = agents.key.ns, .label_selector = agents.selector_text()},
                   call));
  for (const auto& item : pods.items) {
    const auto pod = cluster::parse_pod(item.json);
    if (!pod || !pod->ready) continue;
    const auto found = nodes.find(pod->node);
    if (found != nodes.end()) ready.insert(*found);
  }
  return ready;
}

}  // namespace tranche::controller
