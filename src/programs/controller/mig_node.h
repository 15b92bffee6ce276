#pragma once
// A Node as the MIG drainer reads and writes it (cluster/formats/mig_change.h). Pure: text in,
// values and text out.

#include <optional>
#include <string>

#include "base/result.h"
#include "cluster/formats/mig_change.h"
#include "cluster/node.h"

namespace tranche::controller {

struct MigNode {
  cluster::Node node;
  bool open = false;                         // it has the label
  std::optional<cluster::MigChange> change;  // nullopt: none, or `complaint` says what is wrong
  std::string complaint;
  // The controller's own text; nullopt: there is none that can be read.
  std::optional<cluster::MigDrain> drain;
  bool has_drain = false;  // the annotation is there, whatever it holds
  bool marked = false;     // its cordon is the controller's

  // The drain that answers the change that is open; nullopt: none does.
  const cluster::MigDrain* answer() const;
};

Result<MigNode> read_mig_node(std::string_view json);

// Whether the agent has not renewed its text for MigChange::kValid, or wrote a time that has not
// come.
bool is_old(const cluster::MigChange& change, cluster::WallTime now);

// Whether a person accepts that the change leaves Pods without what they ask for.
bool accepts_outage(const MigNode& node);

// Since when the Pod is in the way, as the Node's text has it; nullopt: it is news.
std::optional<cluster::WallTime> blocked_since(const MigNode& node, const cluster::ObjectKey& pod,
                                               const std::string& why);

enum class Cordon { kKeep, kSet, kTakeAway };
// The merge patch that writes all of it at once, on this version of the Node alone. A cordon that
// is set is marked with `drain`'s id. nullopt: the annotation goes.
std::string mig_patch(const MigNode& node, const std::optional<cluster::MigDrain>& drain,
                      Cordon cordon);

}  // namespace tranche::controller
