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
    int count = 2;  // how often it happened in all
    Time last;
  };

  ObjectReference regarding;
  bool warning = false;
  std::string reason;    // "ConfigRefused": a word for machines
  std::string action;    // "Configure": what was tried
  std::string note;      // for people; cut to 1024 bytes
  std::string reporter;  // reportingController, "tranche.dev/agent"
  std::string instance;  // reportingInstance: the node or Pod
  Time time;
  std::optional<Series> series = {};
};

// Where the event belongs: the namespace of what it is about ("default" for a cluster-scoped
// object), and a name that is the same for the same object, reason, note and time.
ObjectKey key_of(const Event& event);

// For create. What is longer than the API server takes is cut at a character's end.
std::string to_json(const Event& event);
// For a merge patch of an event that happened again.
std::string series_patch(const Event::Series& series);

}  // namespace tranche::cluster
