#pragma once
// A reason why Pods wait for GPUs, as waiting_pods.h tells it: how to find it, and what to say.
// Pure: what an explainer knows comes from the API server's objects.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cluster/node.h"
#include "cluster/object.h"

namespace tranche::controller {

struct Explainer {
  // Asks the API server for all Nodes.
  using ListNodes = std::function<Result<std::vector<cluster::Node>>()>;
  // One for each Pod: why it waits, and what to do. nullopt: not for this reason.
  using Notes = std::vector<std::optional<std::string>>;

  std::string purpose;           // for the log, when the process starts
  std::string topic;             // of a line of the log: "Pods that wait for GPUs"
  const char* reason = nullptr;  // of the Events
  // Whether the reason may be that of the Pod with this text. Other Pods are not kept.
  bool (*may_concern)(const std::string& text) = nullptr;
  Result<Notes> (*explain)(const std::vector<cluster::Object>& pods,
                           const ListNodes& list_nodes) = nullptr;
};

}  // namespace tranche::controller
