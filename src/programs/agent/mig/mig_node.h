#pragma once
// What the manager writes on its Node: the state label, as NVIDIA's MIG manager does, the text for
// the controller (cluster/formats/mig_change.h), and the pause of NVIDIA's own clients. Pure.

#include <optional>
#include <string>

#include "agent/mig/mig_clients.h"
#include "agent/mig/mig_machine.h"
#include "agent/node/node_writer.h"
#include "cluster/formats/mig_change.h"
#include "cluster/node.h"
#include "mig/journal.h"

namespace tranche::agent {

struct MigTexts {
  // The value of nvidia.com/mig.config.state. nullopt: unchanged; "": the label is removed.
  std::optional<std::string> state;
  // The change in progress; nullopt: none.
  std::optional<cluster::MigChange> change;
  // The outcome of the last wish, for an agent whose disk is lost. nullopt: none.
  std::optional<MigOutcome> outcome = {};
  bool pause = false;
  OwnSelector own = {};  // the node selector of this agent's Pod
};

inline constexpr const char* kMigPending = "pending";
inline constexpr const char* kMigSuccess = "success";
inline constexpr const char* kMigFailed = "failed";

// What must be written for these texts; nullopt: the Node has them.
std::optional<NodeWriter::Change> difference(const MigTexts& texts, const cluster::Node& node);

cluster::MigPhase phase_for_controller(mig::Journal::Phase phase);

// The journal in the Node's annotation; nullopt: none that is readable.
std::optional<mig::Journal> journal_on(const cluster::Node& node);
// The last wish's outcome in the Node's annotation; nullopt: none that is readable.
std::optional<MigOutcome> outcome_on(const cluster::Node& node);
// The controller's answer to that change; nullopt: none yet.
std::optional<cluster::MigDrain> answer_on(const cluster::Node& node, const std::string& id);

// The one that got further: a change is stored on the disk and on the Node.
std::optional<mig::Journal> later(std::optional<mig::Journal> a, std::optional<mig::Journal> b);

}  // namespace tranche::agent
