#pragma once
// A Node as the MIG drainer reads and writes it (cluster/formats/mig_change.h). Pure.

#include <optional>
#include <string>

#include "base/result.h"
#include "cluster/formats/mig_change.h"
#include "cluster/node.h"

namespace tranche::controller {

struct MigNode {
  cluster::Node node;
  bool open = false;                         // has the label
  std::optional<cluster::MigChange> change;  // nullopt: none, or unreadable: `complaint`
  std::string complaint;
  // The controller's own text; nullopt: none, or unreadable.
  std::optional<cluster::MigDrain> drain;
  bool has_drain = false;  // has the annotation, readable or not
  bool marked = false;     // its cordon is the controller's

  // `drain` if it answers the open change; null: it does not.
  const cluster::MigDrain* answer() const;
};

Result<MigNode> read_mig_node(std::string_view json);

// Whether the agent's text was not renewed for MigChange::kValid, or is of the future.
bool is_old(const cluster::MigChange& change, cluster::WallTime now);

// Whether an administrator accepts that the change leaves Pods without what they request.
bool accepts_outage(const MigNode& node);

// Since when the Pod blocks the change, by the Node's text; nullopt: newly.
std::optional<cluster::WallTime> blocked_since(const MigNode& node, const cluster::ObjectKey& pod,
                                               const std::string& why);

enum class Cordon { kKeep, kSet, kTakeAway };
// The merge patch that writes everything at once, for this version of the Node only. A new cordon
// is marked with `drain`'s id. nullopt: the annotation is removed.
std::string mig_patch(const MigNode& node, const std::optional<cluster::MigDrain>& drain,
                      Cordon cordon);

}  // namespace tranche::controller
