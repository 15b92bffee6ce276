#pragma once
// Records one reporter's Events, so that `kubectl describe` shows what happened to an object.
// Nothing depends on an Event: when one cannot be recorded, the first failure is logged and the
// program continues. Used by one thread at a time.

#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "cluster/event.h"
#include "cluster/objects.h"

namespace tranche::cluster {

class EventRecorder {
 public:
  struct Options {
    std::string reporter;  // reportingController, "tranche.dev/agent"
    std::string instance;  // reportingInstance: the node or Pod
  };

  // The references must outlive it.
  EventRecorder(Objects& objects, Options options, const Clock& clock, const Log& log);

  // Fills in the reporter, and the current time if the event has none. An event with its own time
  // is recorded only once, however often it is passed.
  void record(Event event, const Call& call);

 private:
  Objects& objects_;
  const Options options_;
  const Clock& clock_;
  const Log& log_;
  bool refused_ = false;
};

}  // namespace tranche::cluster
