#pragma once
// Writes the Node's conditions (condition_report.h), each change also as an Event, and other Events
// that people should know of the node. Writes are retried until they succeed, on its own thread.
// Any thread may call it.

#include <string>

#include "agent/node/condition_report.h"
#include "agent/node/node_view.h"
#include "base/clock.h"
#include "base/retrier.h"
#include "cluster/client/event_recorder.h"
#include "cluster/objects.h"

namespace tranche::agent {

struct NodeNotice {
  bool warning = false;
  std::string reason;  // of cluster/formats/reasons.h
  std::string action;  // "Advertise": what was tried
  std::string note;    // for people
  bool operator==(const NodeNotice&) const = default;
};

class NodeReporter {
 public:
  NodeReporter(cluster::Objects& objects, const NodeView& node, const Clock& clock, const Log& log,
               Backoff backoff = {});

  // Writes the condition into the Node unless it is there. To be repeated when the Node changes. A
  // later report of the same type replaces this one.
  void report(const ConditionReport& report);
  // Removes the condition of that type from the Node.
  void withdraw(const std::string& type);
  // Records an Event, once.
  void tell(const NodeNotice& notice);

 private:
  // `action`: of the Event; empty: none.
  Result<void> write(const cluster::NodeCondition& wanted, const std::string& action,
                     const std::stop_token& stop);
  Result<void> remove(const std::string& type, const std::stop_token& stop);
  void record(const NodeNotice& notice, const std::stop_token& stop);

  cluster::Objects& objects_;
  const NodeView& node_;
  const Clock& clock_;
  cluster::EventRecorder events_;  // of the retrier's thread
  Retrier retrier_;
};

}  // namespace tranche::agent
