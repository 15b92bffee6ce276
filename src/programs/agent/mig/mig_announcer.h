#pragma once
// Publishes the state of the Node's MIG layout: labels and annotations for the controller and for
// the next agent, a condition and Events for people. Decides nothing.
//
// remark() may be called from any thread, everything else only from the manager's. publish() waits
// for the API server.

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "agent/mig/mig_machine.h"
#include "agent/mig/mig_node.h"
#include "agent/mig/mig_observer.h"
#include "agent/mig/mig_progress.h"
#include "agent/mig/mig_view.h"
#include "agent/node/node_reporter.h"
#include "agent/node/node_writer.h"
#include "base/clock.h"
#include "base/log.h"
#include "cluster/node.h"

namespace tranche::agent {

// Tranches by resource, as configured, with the old and with the new layout.
struct MigCounts {
  std::map<std::string, std::int64_t> before;
  std::map<std::string, std::int64_t> after;
  bool operator==(const MigCounts&) const = default;
};
MigCounts count_tranches(const mig::Journal& journal, const MigView& view);
// What differs: "nvidia.com/gpu 1 -> 0, nvidia.com/mig-1g.10gb 0 -> 7".
std::string describe(const MigCounts& counts);

class MigAnnouncer {
 public:
  struct Ports {
    // True: written.
    std::function<bool(const NodeWriter::Change&, const cluster::Call&)> write;
    std::function<void(const NodeNotice&)> tell;         // empty: no Events
    std::function<void(const ConditionReport&)> report;  // empty: no conditions
    const Clock& clock;
    const Log& log;
  };
  MigAnnouncer(MigTimes times, Ports ports) : times_(times), ports_(std::move(ports)) {}

  // What the change waits for in addition to Pods, before the next move is decided. Logs changes.
  void note_wait(const MigFacts& facts, const MigProgress& progress);
  // Reports an executed move. `before`: the phase that it ended; nullopt: it began the change, or
  // there is none.
  void report(const MigMove& move, const MigFacts& facts, const MigProgress& progress,
              std::optional<mig::Journal::Phase> before, const MigView& view);
  // Reports the outcome of the change. progress.journal is in kFinished.
  void report_end(const MigProgress& progress);
  bool publish(const cluster::Node& node, const MigProgress& progress, const MigPods& pods,
               const MigView& view, const std::stop_token& stop);

  // After each step: what the change does now, for people. Empty: no change.
  void note_remark(const MigProgress& progress);
  std::string remark() const;

 private:
  enum class AsEvent { kNo, kYes };

  MigTexts texts(const cluster::Node& node, const MigProgress& progress, const MigPods& pods,
                 const MigView& view);
  MigTexts texts_of_change(const MigProgress& progress, const MigPods& pods, const MigView& view);
  cluster::MigChange change_text(const mig::Journal& journal, const MigPods& pods,
                                 const MigView& view);
  const MigCounts& counts_of(const mig::Journal& journal, const MigView& view);
  void announce(const MigFacts& facts, const mig::Journal& journal, const MigView& view);
  void report_at_rest(const MigFacts& facts, const MigProgress& progress);
  void report_outcome(const std::string& layout, MigEnd end, const std::string& trouble);
  void report_unmanaged(AsEvent as_event);
  void report(bool good, const char* reason, const std::string& message,
              AsEvent as_event = AsEvent::kYes);

  MigTimes times_;
  Ports ports_;
  std::string waits_for_;  // MigChange::waits_for
  // Made when a change is first named, from the machine as it is then.
  struct Counted {
    std::string change;  // its id
    MigCounts counts;
  };
  std::optional<Counted> counted_;
  std::optional<cluster::MigChange> change_;  // written last
  struct Sent {
    std::string version;  // of the Node at that time
    NodeWriter::Values labels, annotations;
  };
  std::optional<Sent> sent_;
  std::optional<ConditionReport> reported_;

  mutable std::mutex mutex_;
  std::string remark_;  // guarded by mutex_
};

}  // namespace tranche::agent
