#pragma once
// The manager of MIG layouts as a state machine: decides the next move from a change's journal and
// the facts. Pure; agent/mig/mig_manager.h runs it.
//
//     no journal: the label asks for a layout that the GPUs lack -> kAsking
//     kAsking     the controller answers            -> kDraining, or kFinished when it refuses
//     kDraining   nobody holds what leaves service,
//                 and NVIDIA's clients have ended   -> kChanging, or kFinished at the deadline
//     kChanging   the GPUs have the new layout      -> kVerifying, or kUndoing; while a process has
//                                                      a GPU open it is tried again
//     kVerifying  kubelet offers it                 -> kFinished, or kUndoing
//     kUndoing    nobody holds what leaves, and the
//                 GPUs have the old layout          -> kFinished
//     kFinished   the controller has uncordoned     -> no journal
//
// After a crash or a reboot an agent continues from the journal's phase.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cluster/formats/mig_change.h"
#include "cluster/time.h"
#include "mig/journal.h"
#include "mig/layout.h"

namespace tranche::agent {

// The GPUs that differ from the wish, before and after.
struct MigPlan {
  mig::Layout from;
  mig::Layout to;
  bool operator==(const MigPlan&) const = default;

  bool empty() const { return to.empty(); }
};

enum class MigEnd {
  kUntouched,  // nothing was changed
  kUndone,     // the old layout is back
  kChanged,    // the new layout is there: a Pod kept a device of it
  kBetween,    // neither
  kUnread,     // unknown: the driver does not answer
  kWaits,      // nothing was changed: the required mode is set, and a reboot brings it
};

// The layout to restore after a reboot, which destroys instances: that of the last wish that was
// met, and for other GPUs the one before a failed change.
struct MigKept {
  mig::Layout layout;
  std::string boot;  // in which the GPUs had it, or were brought as close to it as possible
  bool operator==(const MigKept&) const = default;
};

// The outcome of a wish. Kept on disk, so that a failure is not repeated and a change by hand is
// not reverted.
struct MigOutcome {
  std::string label;                // the layout's name
  std::string wish;                 // MigFacts::wish; empty: no wish, only `kept` counts
  std::string trouble;              // why the layout is not in force; empty: it is
  std::string boot;                 // the machine's boot id when it came into force
  bool told = false;                // the Node's state label was seen with it
  bool accepted = false;            // an outage was accepted for the layout
  MigEnd end = MigEnd::kUntouched;  // if it failed
  MigKept kept = {};
  bool operator==(const MigOutcome&) const = default;

  bool failed() const { return !trouble.empty(); }
};

struct MigTimes {
  std::chrono::nanoseconds drain = std::chrono::minutes(5);
  // After this time a controller counts as absent.
  std::chrono::nanoseconds asking = std::chrono::minutes(1);
  std::chrono::nanoseconds changing = std::chrono::minutes(10);
  // Kubelet takes a list within a second or two.
  std::chrono::nanoseconds verifying = std::chrono::seconds(30);
  std::chrono::nanoseconds uncordoning = std::chrono::minutes(5);
};

struct MigSettings {
  MigTimes times;
  bool controller = true;  // false: there is none to ask
};

struct MigFacts {
  cluster::WallTime now{};
  std::string boot;
  bool node_known = false;  // the Node was read since this agent started
  std::string label;        // value of nvidia.com/mig.config; empty: none
  std::string state;        // nvidia.com/mig.config.state
  bool accepted = false;    // the Node's annotation accepts an outage for this layout
  // Differs for every label and content of a layout. nullopt: unknown; "": no layout is asked for.
  std::optional<std::string> wish;
  std::optional<MigOutcome> outcome;
  // Without a journal: the changes for the wish; an error: why it cannot be met. nullopt: the
  // hardware has not been read.
  std::optional<Result<MigPlan>> plan;
  mig::Layout present;  // of the wish's GPUs, if `plan` is known
  // What of the plan only a reboot of this machine brings, though it is set already; empty:
  // nothing.
  std::string reboot;
  std::string waiting;  // modes on GPUs of the plan that wait for a reset; empty: none
  // GPUs, as they are, whose mode somebody set since a reboot, or for it: a reboot alone does not
  // bring it. Of the plan, or of a change that is over.
  mig::Layout set_by_others;
  // The wish failed, and a reboot since then brought the modes that it needs.
  bool mode_came = false;
  // After a failed wish: what a reboot destroyed; `from` is the present layout, `to` the kept one.
  // nullopt: no reboot, or unknown.
  std::optional<MigPlan> lost;
  std::optional<cluster::MigDrain> answer;
  // The Pods that hold a device that leaves service; one without a name for unknown holders.
  // nullopt: unknown, because kubelet does not answer.
  std::optional<std::vector<cluster::ObjectKey>> holders;
  std::string neighbours;  // what leaves service without being changed, and why; may be empty
  bool withheld = false;   // kubelet gives out nothing that leaves service
  // Pods of NVIDIA's clients that have not ended yet (agent/mig/mig_clients.h). nullopt: unknown.
  std::optional<std::vector<std::string>> clients = std::vector<std::string>();
  // kChanging, kUndoing: the result of the attempt. nullopt: none in this phase.
  std::optional<Result<void>> applied;
  // kVerifying: whether the new layout is in service.
  Result<void> verified = fail(Code::kUnavailable, "kubelet was not asked yet");
};

struct MigMove {
  enum class Kind {
    kWait,
    kForget,   // remove the outcome: it is of another wish, or a person removed the state label
    kSettle,   // `outcome` is the wish's; nothing was changed
    kDrift,    // somebody changed the GPUs or the layout's text by hand: report it, change nothing
    kJournal,  // `journal` is in force from now on
    kApply,    // bring the GPUs to the layout of the journal's phase
    kClose,    // the change is over, with this outcome, if any
  };
  Kind kind = Kind::kWait;
  std::optional<mig::Journal> journal = {};
  std::optional<MigOutcome> outcome = {};
  bool operator==(const MigMove&) const = default;
};

// Whether the text of the layout in force has been edited. One edit would drain every node with
// that layout at once, so it is applied when somebody asks for it.
bool is_edited(const MigFacts& facts);

// Whether a change in this phase may have touched the GPUs and is not over.
bool is_on_hardware(mig::Journal::Phase phase);

// How long a change waits for processes that have a GPU open. The journal is in kChanging.
cluster::WallTime in_use_until(const mig::Journal& journal, const MigTimes& times);

// How long Pods may hold what an undo removes. The journal is in kUndoing.
cluster::WallTime undo_drained_by(const mig::Journal& journal, const MigTimes& times);

MigMove next_move(const std::optional<mig::Journal>& journal, const MigFacts& facts,
                  const MigSettings& settings);

// "default/a, default/b and 3 more".
std::string describe_pods(const std::vector<cluster::ObjectKey>& pods);

}  // namespace tranche::agent
