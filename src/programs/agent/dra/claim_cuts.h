#pragma once
// The GPUs of this node on which MIG instances are made for claims: those that need no reset for it
// and that nobody else cuts (a layout from the Node's label, or a person). Thread-safe.

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

  // Sets the GPUs that somebody else has cut. True: they have changed.
  bool found(std::set<gpu::GpuUuid> by_others);

  // Whether the GPUs must be read again: somebody else had cut one at the last reading, or there
  // was none.
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
