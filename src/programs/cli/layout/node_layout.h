#pragma once
// What a cluster knows of the MIG layout of one of its nodes: labels, annotations, the agent's
// condition, and what the node offers. For `tranche layout show|apply --node`. Pure.

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
  std::string label;                           // the layout that is asked for; "": none
  std::string label_set_by;                    // its field manager; "": not known
  std::string state;                           // "pending", "success", "failed"; "": nobody says
  cluster::NodeCondition condition;            // TrancheMigLayout; without a type: there is none
  std::optional<bool> mig_capable;             // nullopt: there is no such label
  std::optional<cluster::MigChange> change;    // the one that is open, if it can be read
  std::optional<mig::Journal> journal;         // of `change`
  std::optional<cluster::MigDrain> drain;      // that answers `change`
  std::map<std::string, std::int64_t> offers;  // nvidia.com/...: allocatable
  std::string pool;                            // that gave the node its label; "": none

  // An agent that manages layouts says so by its condition; of NVIDIA's MIG manager there is the
  // state, or the GPU operator's label.
  bool has_manager() const;
};

// kInvalidArgument: the text is no Node.
Result<NodeLayout> read_node_layout(std::string_view json);

// "nvidia.com/gpu 4, nvidia.com/mig-1g.10gb 28"; without those of which there is none.
std::string offers_text(const NodeLayout& layout);
// "verifying, 28s left": the phase, as finely as the journal has it.
std::string phase_text(const NodeLayout& layout, cluster::WallTime now);
// "default/train: PodDisruptionBudget default/web allows no eviction now", of each Pod that still
// holds what leaves service.
std::vector<std::string> holder_texts(const NodeLayout& layout);
// For people, several lines.
std::string describe(const NodeLayout& layout, cluster::WallTime now);

}  // namespace tranche::cli
