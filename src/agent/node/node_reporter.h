#pragma once
// Reports on the Node what became of its configuration. The condition `TrancheConfigured` is True
// when the wanted configuration is in force, and False when it was refused and the one before stays
// in force. `TrancheGrantsStored` is False while the node's disk takes no grants; a node on which
// that never happened lacks it. Each change is also an Event, so that `kubectl describe node` shows
// it. It also records Events about other things that people should know of the node. Writes are
// retried until they succeed, on a thread of its own.

#include <string>

#include "agent/node/node_view.h"
#include "base/clock.h"
#include "base/retrier.h"
#include "cluster/event_recorder.h"
#include "cluster/objects.h"

namespace tranche::agent {

inline constexpr const char* kConfiguredCondition = "TrancheConfigured";
inline constexpr const char* kGrantsStoredCondition = "TrancheGrantsStored";

struct ConfigReport {
  bool applied = false;
  std::string message;
  bool operator==(const ConfigReport&) const = default;
};

struct NodeNotice {
  bool warning = false;
  std::string reason;  // "ResourceWithheld": a word for machines
  std::string action;  // "Advertise": what was tried
  std::string note;    // for people
  bool operator==(const NodeNotice&) const = default;
};

class NodeReporter {
 public:
  // The references outlive it.
  NodeReporter(cluster::Objects& objects, const NodeView& node, const Clock& clock, const Log& log,
               Backoff backoff = {});

  // Writes the condition into the Node unless it is there already. To be called again when the Node
  // changes.
  void report(const ConfigReport& report);
  // The same for whether grants are stored.
  void report_stored(const Result<void>& stored);
  // Records an Event, once.
  void tell(const NodeNotice& notice);

 private:
  void want(const cluster::NodeCondition& wanted, const std::string& action);
  Result<void> write(const cluster::NodeCondition& wanted, const std::string& action,
                     const std::stop_token& stop);
  void record(const NodeNotice& notice, const std::stop_token& stop);

  cluster::Objects& objects_;
  const NodeView& node_;
  const Clock& clock_;
  cluster::EventRecorder events_;  // of the retrier's thread
  Retrier retrier_;
};

}  // namespace tranche::agent
