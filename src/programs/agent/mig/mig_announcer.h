#pragma once
// Says what becomes of the Node's MIG layout: the labels and annotations of a change, for the
// controller and for a next agent, and a condition and Events, for people. It decides nothing.
//
// remark() may be called from any thread, everything else from the manager's; publish() waits for
// the API server.

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

// Tranches by resource, as the configuration has them with the old layout and with the new one.
struct MigCounts {
  std::map<std::string, std::int64_t> before;
  std::map<std::string, std::int64_t> after;
  bool operator==(const MigCounts&) const = default;
};
MigCounts count_tranches(const mig::Journal& journal, const MigView& view);
// "nvidia.com/gpu 1 -> 0, nvidia.com/mig-1g.10gb 0 -> 7": what differs.
std::string describe(const MigCounts& counts);

class MigAnnouncer {
 public:
  // All outlive it.
  struct Ports {
    // Whether it was written.
    std::function<bool(const NodeWriter::Change&, const cluster::Call&)> write;
    std::function<void(const NodeNotice&)> tell;         // empty: there are no Events
    std::function<void(const ConditionReport&)> report;  // empty: there are no conditions
    const Clock& clock;
    const Log& log;
  };
  MigAnnouncer(MigTimes times, Ports ports) : times_(times), ports_(std::move(ports)) {}

  // What the change waits for besides Pods, before the next move is decided. Logged when it
  // changes.
  void note_wait(const MigFacts& facts, const MigProgress& progress);
  // What a move that was executed is to people. `before`: the phase that it ended; nullopt: it
  // began the change, or there is none.
  void report(const MigMove& move, const MigFacts& facts, const MigProgress& progress,
              std::optional<mig::Journal::Phase> before, const MigView& view);
  // What became of the change. progress.journal is in kFinished.
  void report_end(const MigProgress& progress);
  // Whether the Node has all texts now.
  bool publish(const cluster::Node& node, const MigProgress& progress, const MigPods& pods,
               const MigView& view, const std::stop_token& stop);

  // What the change does now, for people: after each step. Empty: there is none.
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
  // Made when a change is named first, of what the machine was then.
  struct Counted {
    std::string change;  // its id
    MigCounts counts;
  };
  std::optional<Counted> counted_;
  std::optional<cluster::MigChange> change_;  // as written last
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
