#include "agent/dra/claim_cuts.h"

#include <utility>

#include "agent/instances/instance_maker.h"
#include "cluster/formats/mig_change.h"
#include "offer/unplanned_mig.h"

namespace tranche::agent {
namespace {

bool has_layout(const cluster::Node& node) {
  const auto label = node.labels.find(cluster::kMigConfigLabel);
  return label != node.labels.end() && offer::names_a_layout(label->second);
}

}  // namespace

bool ClaimCuts::found(std::set<gpu::GpuUuid> by_others) {
  const std::scoped_lock lock(mutex_);
  if (by_others_ == by_others) return false;
  by_others_ = std::move(by_others);
  return true;
}

bool ClaimCuts::look_again() const {
  const std::scoped_lock lock(mutex_);
  return wanted_ && (!by_others_ || !by_others_->empty());
}

std::optional<std::set<gpu::GpuUuid>> ClaimCuts::cut(const gpu::Machine& machine,
                                                     const Result<cluster::Node>& node) const {
  std::set<gpu::GpuUuid> gpus;
  if (!wanted_) return gpus;
  const std::scoped_lock lock(mutex_);
  if (!node || !by_others_) return std::nullopt;
  if (has_layout(*node)) return gpus;
  for (const auto& gpu : machine.gpus) {
    if (InstanceMaker::can_cut(gpu) && !by_others_->contains(gpu.uuid)) gpus.insert(gpu.uuid);
  }
  return gpus;
}

}  // namespace tranche::agent
