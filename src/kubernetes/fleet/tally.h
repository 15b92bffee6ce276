#pragma once
// What a cluster's objects tell without its agents: how much there is of each kind, who has it, who
// waits. Pure; its time grows with nodes and Pods, not with their product.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fleet/facts.h"

namespace tranche::fleet {

// Pods that wait for the same in the same place.
struct PendingGroup {
  std::string ns;
  std::string resource;
  std::optional<usage::Mechanism> mechanism{};  // nullopt: no node has the resource
  std::string tier{};
  Cause cause = Cause::kUnknown;
  std::uint64_t pods = 0;
  cluster::WallTime oldest{};
  bool operator==(const PendingGroup&) const = default;
};

// Pods that kubelet rejected, and that nobody has deleted.
struct RejectedGroup {
  std::string reason;  // "TopologyAffinityError"
  std::string node;
  std::string product;  // the node's label nvidia.com/gpu.product; empty: unknown
  std::uint64_t pods = 0;
  bool operator==(const RejectedGroup&) const = default;
};

struct Tally {
  std::vector<Capacity> capacity;        // as in Fleet
  std::vector<NamespaceUse> namespaces;  // as in Fleet
  // As in Fleet: at most kMostWaiting. Those that kubelet rejected are among them, and count
  // nowhere else as waiting: whoever made them makes others.
  std::vector<WaitingPod> waiting;
  std::vector<PendingGroup> pending;    // by namespace, resource, tier, cause
  std::vector<RejectedGroup> rejected;  // by reason and node
};

inline constexpr std::size_t kMostWaiting = 10'000;

// Nodes that have GPUs, or had.
std::vector<std::string> gpu_nodes_of(const Facts& facts);

Tally tally(const Facts& facts);

}  // namespace tranche::fleet
