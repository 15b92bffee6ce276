#pragma once
// One reason why Pods wait for GPUs (waiting_pods.h): how to detect it, and the note for the Event.
// Pure functions of the API server's objects.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cluster/node.h"
#include "cluster/object.h"

namespace tranche::controller {

struct Explainer {
  using ListNodes = std::function<Result<std::vector<cluster::Node>>()>;
  // One for each Pod: why it waits, and what to do; nullopt: not for this reason.
  using Notes = std::vector<std::optional<std::string>>;

  std::string purpose;           // for the log, when the process starts
  std::string topic;             // begins a log line: "Pods that wait for GPUs"
  const char* reason = nullptr;  // of the Events
  // Whether this may be the reason for the Pod with this JSON. Other Pods are not kept.
  bool (*may_concern)(const std::string& text) = nullptr;
  Result<Notes> (*explain)(const std::vector<cluster::Object>& pods,
                           const ListNodes& list_nodes) = nullptr;
};

}  // namespace tranche::controller
