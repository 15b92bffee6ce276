#pragma once
// Records Events of one reporter, so that `kubectl describe` tells what happened to an object.
// Nothing depends on an Event: when one cannot be recorded, the first failure is logged and the
// program goes on. Used by one thread at a time.

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

  // The references outlive it.
  EventRecorder(Objects& objects, Options options, const Clock& clock, const Log& log);

  // Who reports is filled in, and now as the time where there is none. What has its own time is
  // recorded once, however often it is told.
  void record(Event event, const Call& call);

 private:
  Objects& objects_;
  const Options options_;
  const Clock& clock_;
  const Log& log_;
  bool refused_ = false;
};

}  // namespace tranche::cluster
