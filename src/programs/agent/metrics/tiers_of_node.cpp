#include "agent/metrics/tiers_of_node.h"

#include <utility>

#include "cluster/formats/tier_match.h"
#include "cluster/kinds.h"
#include "labels/label_text.h"

namespace tranche::agent {

void set_tiers(std::vector<usage::ContainerFigures>& containers, const gpu::Machine& machine,
               const cluster::TierMap& tiers, const cluster::StringMap* node_labels) {
  if (tiers.empty()) return;
  for (auto& one : containers) {
    const auto* const gpu = gpu::find_gpu(machine, gpu::GpuUuid{one.gpu});
    const auto model = gpu == nullptr ? std::string() : labels::sanitise(gpu->name);
    const cluster::TierPlace place{.node_labels = node_labels, .model = model};
    const auto* const tier = cluster::tier_of(tiers, {.resource = one.resource,
                                                      .mechanism = usage::to_string(one.mechanism),
                                                      .place = place,
                                                      .ns = one.ns});
    if (tier != nullptr) one.tier = tier->name;
  }
}

TiersOfNode::TiersOfNode(cluster::Objects& objects, NodeLabels labels, const Clock& clock,
                         const Log& log, Backoff backoff)
    : read_labels_(std::move(labels)),
      clock_(clock),
      cache_(
          objects, {.kind = cluster::kGpuTier, .kind_may_be_missing = true, .backoff = backoff},
          [this](const cluster::CacheChange& change) { take(change); }, log) {}

// By the cache's thread.
void TiersOfNode::take(const cluster::CacheChange& change) {
  if (change.type == cluster::ChangeType::kSynced) return;
  const auto& name = change.object.key.name;
  auto tier = cluster::parse_gpu_tier(change.object.json);
  const std::scoped_lock lock(mutex_);
  if (change.type == cluster::ChangeType::kDeleted || !tier) {
    tiers_.erase(name);
  } else {
    tiers_.insert_or_assign(name, *std::move(tier));
  }
}

cluster::TierMap TiersOfNode::known() const {
  const std::scoped_lock lock(mutex_);
  return tiers_;
}

void TiersOfNode::set(std::vector<usage::ContainerFigures>& containers,
                      const gpu::Machine& machine) {
  const auto tiers = known();
  if (tiers.empty()) return;
  const auto now = clock_.now();
  if (!labels_at_ || now - *labels_at_ >= kReadLabelsEvery) {
    labels_ = read_labels_();
    labels_at_ = now;
  }
  set_tiers(containers, machine, tiers, labels_ ? &*labels_ : nullptr);
}

}  // namespace tranche::agent
