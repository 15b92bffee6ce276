#pragma once
// The manager of MIG layouts as a state machine: from the journal of a change and the facts it
// decides what is done next. Pure; agent/mig/mig_manager.h runs it.
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
// An agent that starts after a crash or a reboot has the journal and goes on from its phase.

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

// The GPUs that differ from what is wished, as they are and as they shall be.
struct MigPlan {
  mig::Layout from;
  mig::Layout to;
  bool operator==(const MigPlan&) const = default;

  bool empty() const { return to.empty(); }
};

// What the GPUs have after a change that failed.
enum class MigEnd {
  kUntouched,  // nothing was changed
  kUndone,     // the old layout is back
  kChanged,    // the new layout: a Pod kept a device of it
  kBetween,    // neither
  kUnread,     // not known: the driver does not answer
  kWaits,      // nothing was changed: a reboot brings the mode that it takes, which is set already
};

// The layout that the GPUs are to have whatever becomes of the wish: of the last wish that was met,
// and of GPUs for which there was none, what they had before a change failed. A reboot destroys
// instances.
struct MigKept {
  mig::Layout layout;
  std::string boot;  // in which the GPUs had it, or were brought to it as far as that works
  bool operator==(const MigKept&) const = default;
};

// What became of a wish. Kept on disk, so that what failed is not tried again and what a person
// changed by hand is not reverted.
struct MigOutcome {
  std::string label;                // the layout's name
  std::string wish;                 // MigFacts::wish; empty: of no wish, `kept` alone counts
  std::string trouble;              // why it is not in force; empty: it is
  std::string boot;                 // the machine's boot id when it came into force
  bool told = false;                // the Node's state label was seen to have it
  bool accepted = false;            // an outage was accepted for the layout
  MigEnd end = MigEnd::kUntouched;  // of one that failed
  MigKept kept = {};
  bool operator==(const MigOutcome&) const = default;

  bool failed() const { return !trouble.empty(); }
};

struct MigTimes {
  std::chrono::nanoseconds drain = std::chrono::minutes(5);
  // A controller that does not answer for so long is taken to be absent.
  std::chrono::nanoseconds asking = std::chrono::minutes(1);
  std::chrono::nanoseconds changing = std::chrono::minutes(10);
  // Kubelet takes a list within a second or two.
  std::chrono::nanoseconds verifying = std::chrono::seconds(30);
  std::chrono::nanoseconds uncordoning = std::chrono::minutes(5);
};

struct MigSettings {
  MigTimes times;
  bool controller = true;  // false: there is none, so nobody is asked
};

struct MigFacts {
  cluster::WallTime now{};
  std::string boot;
  bool node_known = false;  // the Node was read since this agent started
  std::string label;        // what nvidia.com/mig.config asks for; empty: nothing
  std::string state;        // nvidia.com/mig.config.state
  bool accepted = false;    // the Node's annotation accepts an outage for this layout
  // Changes whenever the label or the content of the layout does. nullopt: not known now; "": no
  // layout is asked for.
  std::optional<std::string> wish;
  std::optional<MigOutcome> outcome;
  // Without a journal: what must be done for the wish; an error: why it cannot be met. nullopt:
  // the hardware has not been read.
  std::optional<Result<MigPlan>> plan;
  mig::Layout present;  // what the GPUs of the wish have, where `plan` is known
  // What of the plan a reboot of this machine alone can bring, though it is set already; empty:
  // nothing.
  std::string reboot;
  std::string waiting;  // modes on GPUs of the plan that wait for a reset; empty: none
  // GPUs whose mode somebody set since a reboot, or for it, as they are: a reboot alone does not
  // make that mode of what they had. Of the plan, or of a change that is over.
  mig::Layout set_by_others;
  // The wish failed, and a reboot since brought the modes that it takes.
  bool mode_came = false;
  // After a wish that failed: what a reboot took away, `from` what the GPUs have `to` what was
  // kept. nullopt: there was no reboot, or it is not known.
  std::optional<MigPlan> lost;
  // The controller's answer to this change.
  std::optional<cluster::MigDrain> answer;
  // The Pods that hold a device that leaves service; one without a name for holders that nobody can
  // name. nullopt: not known, for kubelet does not answer.
  std::optional<std::vector<cluster::ObjectKey>> holders;
  std::string neighbours;  // what leaves service although it does not change, and why; may be empty
  bool withheld = false;   // kubelet gives out nothing that leaves service
  // Pods of NVIDIA's clients that have not ended yet (agent/mig/mig_clients.h). nullopt: not known.
  std::optional<std::vector<std::string>> clients = std::vector<std::string>();
  // kChanging, kUndoing: what became of the attempt. nullopt: there was none in this phase.
  std::optional<Result<void>> applied;
  // kVerifying: whether the new layout is in service.
  Result<void> verified = fail(Code::kUnavailable, "kubelet was not asked yet");
};

struct MigMove {
  enum class Kind {
    kWait,
    kForget,   // the outcome, for it is of another wish, or a person removed the state label
    kSettle,   // `outcome` is what became of the wish; nothing was changed
    kDrift,    // somebody changed the GPUs by hand, or the layout's text: reported, and left so
    kJournal,  // `journal` from now on
    kApply,    // bring the GPUs to what the journal's phase asks for
    kClose,    // the change is over, with this outcome, if there is one
  };
  Kind kind = Kind::kWait;
  std::optional<mig::Journal> journal = {};
  std::optional<MigOutcome> outcome = {};
  bool operator==(const MigMove&) const = default;
};

// Whether the text of the layout that is in force is another one since. One edit would drain every
// node of that layout at once, so it is applied when somebody asks for it.
bool is_edited(const MigFacts& facts);

// Whether a change in that phase may have touched the GPUs and is not over.
bool is_on_hardware(mig::Journal::Phase phase);

// Until when a change waits for processes that have a GPU open. The journal is in kChanging.
cluster::WallTime in_use_until(const mig::Journal& journal, const MigTimes& times);

// Until when Pods may hold what an undo would take away. The journal is in kUndoing.
cluster::WallTime undo_drained_by(const mig::Journal& journal, const MigTimes& times);

MigMove next_move(const std::optional<mig::Journal>& journal, const MigFacts& facts,
                  const MigSettings& settings);

// "default/a, default/b and 3 more".
std::string describe_pods(const std::vector<cluster::ObjectKey>& pods);

}  // namespace tranche::agent
