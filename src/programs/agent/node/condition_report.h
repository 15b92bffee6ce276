#pragma once
// The wanted state of a condition of the Node, which NodeReporter writes. Types and reasons are in
// cluster/formats/reasons.def; cleanup removes each of them from the Node.

#include <string>

#include "base/result.h"
#include "cluster/formats/reasons.h"

namespace tranche::agent {

inline constexpr const char* kConfiguredCondition = cluster::condition::kTrancheConfigured;
inline constexpr const char* kGrantsStoredCondition = cluster::condition::kTrancheGrantsStored;
inline constexpr const char* kDevicesFreeCondition = cluster::condition::kTrancheDevicesFree;
// Whether kubelet offers what the agent offers (agent/plugins/).
inline constexpr const char* kServingCondition = cluster::condition::kTrancheServing;
// Whether the GPUs are healthy, by the driver and their XIDs (agent/health/).
inline constexpr const char* kGpuHealthyCondition = cluster::condition::kTrancheGpuHealthy;

struct ConditionReport {
  std::string type;  // "TrancheConfigured"
  // Whether the condition's status is True, the desired state. A change to False is a warning.
  bool good = false;
  std::string reason;   // of cluster/formats/reasons.h; also the reason of the Event
  std::string message;  // for people; cut to 1024 bytes
  std::string action;   // "Configure": what was tried, for the Event
  // Whether a good condition is written to a Node without it. False: a node on which it was never
  // bad lacks it.
  bool written_while_good = true;
  // Whether each change is an Event too. False: whoever reports it records its own.
  bool as_event = true;
  // The status is Unknown.
  bool unknown = false;
  bool operator==(const ConditionReport&) const = default;
};

struct ConfigReport {
  bool applied = false;
  std::string message;
  std::string in_part{};  // the part that cannot be kept here, and why; empty: none
  bool operator==(const ConfigReport&) const = default;
};

// TrancheConfigured is True while the wanted configuration is in force; False if it was refused and
// the previous one stays in force, or if it is followed in part.
ConditionReport configured_condition(const ConfigReport& report);

// TrancheGrantsStored is False while the node's disk takes no grants. `stored`: the result of the
// last attempt.
ConditionReport stored_condition(const Result<void>& stored);

}  // namespace tranche::agent
