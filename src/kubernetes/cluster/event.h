#pragma once
// An Event (events.k8s.io/v1): what `kubectl describe` shows below an object.

#include <chrono>
#include <optional>
#include <string>

#include "cluster/metadata.h"
#include "cluster/object.h"

namespace tranche::cluster {

struct Event {
  using Time = std::chrono::system_clock::time_point;
  struct Series {
    int count = 2;  // total number of occurrences
    Time last;
  };

  ObjectReference regarding;
  bool warning = false;
  std::string reason;    // "ConfigRefused": a machine-readable word
  std::string action;    // "Configure": the attempted action
  std::string note;      // for people; cut to 1024 bytes
  std::string reporter;  // reportingController, "tranche.dev/agent"
  std::string instance;  // reportingInstance: the node or Pod
  Time time;
  std::optional<Series> series = {};
};

// The event's place: the namespace of its object ("default" for a cluster-scoped object), and a
// name that is the same for the same object, reason, note and time.
ObjectKey key_of(const Event& event);

// For create. Texts longer than the API server accepts are cut at a character boundary.
std::string to_json(const Event& event);
// For a merge patch of a recurring event.
std::string series_patch(const Event::Series& series);

}  // namespace tranche::cluster
