#pragma once
// On which GPUs of this node MIG instances are made for claims: where that needs no reset, and
// where nobody else cuts them (a layout that the Node's label names, or a person). Thread-safe.

#include <mutex>
#include <optional>
#include <set>

#include "base/result.h"
#include "cluster/node.h"
#include "gpu/machine.h"

namespace tranche::agent {

class ClaimCuts {
 public:
  // `wanted`: whether instances are made for claims at all.
  explicit ClaimCuts(bool wanted) : wanted_(wanted) {}

  // The GPUs that somebody else has cut, as they were found last. Whether that is news.
  bool found(std::set<gpu::GpuUuid> by_others);

  // Whether somebody else had cut one when they were looked at last, or nobody has looked yet.
  bool look_again() const;

  // nullopt: not known yet.
  std::optional<std::set<gpu::GpuUuid>> cut(const gpu::Machine& machine,
                                            const Result<cluster::Node>& node) const;

 private:
  const bool wanted_;
  mutable std::mutex mutex_;  // guards by_others_
  std::optional<std::set<gpu::GpuUuid>> by_others_;
};

}  // namespace tranche::agent
