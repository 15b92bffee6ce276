#pragma once
// What a cluster knows of a node's MIG layout: labels, annotations, the agent's condition, and what
// the node offers. For `tranche layout show|apply --node`. Pure.

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cluster/formats/mig_change.h"
#include "cluster/node.h"
#include "mig/journal.h"

namespace tranche::cli {

struct NodeLayout {
  cluster::Node node;
  std::string label;                           // the requested layout; "": none
  std::string label_set_by;                    // its field manager; "": unknown
  std::string state;                           // "pending", "success", "failed"; "": unknown
  cluster::NodeCondition condition;            // TrancheMigLayout; without a type: none
  std::optional<bool> mig_capable;             // nullopt: no such label
  std::optional<cluster::MigChange> change;    // the open one, if readable
  std::optional<mig::Journal> journal;         // of `change`
  std::optional<cluster::MigDrain> drain;      // the answer to `change`
  std::map<std::string, std::int64_t> offers;  // nvidia.com/...: allocatable
  std::string pool;                            // the pool that set the label; "": none

  // An agent that manages layouts has the condition; NVIDIA's MIG manager has the state, or the GPU
  // operator's label.
  bool has_manager() const;
};

// kInvalidArgument: the text is not a Node.
Result<NodeLayout> read_node_layout(std::string_view json);

// "nvidia.com/gpu 4, nvidia.com/mig-1g.10gb 28"; without zeros.
std::string offers_text(const NodeLayout& layout);
// "verifying, 28s left": the phase, as detailed as in the journal.
std::string phase_text(const NodeLayout& layout, cluster::WallTime now);
// "default/train: PodDisruptionBudget default/web allows no eviction now", for each Pod that still
// holds leaving devices.
std::vector<std::string> holder_texts(const NodeLayout& layout);
// For people, several lines.
std::string describe(const NodeLayout& layout, cluster::WallTime now);

}  // namespace tranche::cli
