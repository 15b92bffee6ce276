#pragma once
// What a condition of the Node shall say, as a value: NodeReporter writes it. Types and reasons are
// those of cluster/formats/reasons.def; cleanup takes each of them off the Node.

#include <string>

#include "base/result.h"
#include "cluster/formats/reasons.h"

namespace tranche::agent {

inline constexpr const char* kConfiguredCondition = cluster::condition::kTrancheConfigured;
inline constexpr const char* kGrantsStoredCondition = cluster::condition::kTrancheGrantsStored;
inline constexpr const char* kDevicesFreeCondition = cluster::condition::kTrancheDevicesFree;
// Whether kubelet offers what the agent offers (agent/plugins/).
inline constexpr const char* kServingCondition = cluster::condition::kTrancheServing;
// Whether the GPUs are in order, by the driver and by their XIDs (agent/health/).
inline constexpr const char* kGpuHealthyCondition = cluster::condition::kTrancheGpuHealthy;

struct ConditionReport {
  std::string type;  // "TrancheConfigured"
  // Whether the condition's status is True, which is what everybody wants. A change to False is a
  // warning.
  bool good = false;
  std::string reason;   // of cluster/formats/reasons.h; also the reason of the Event
  std::string message;  // for people; cut to 1024 bytes
  std::string action;   // "Configure": what was tried, for the Event
  // Whether it is written while it is good and the Node has no such condition. False: a node on
  // which it was never bad lacks it.
  bool written_while_good = true;
  // Whether each change is an Event too. False: whoever reports it tells Events of its own.
  bool as_event = true;
  // Not good, and not known to be bad either: the status is Unknown.
  bool unknown = false;
  bool operator==(const ConditionReport&) const = default;
};

// What became of the configuration that the node wants.
struct ConfigReport {
  bool applied = false;
  std::string message;
  std::string in_part{};  // what of it cannot be kept here, and why; empty: it is followed whole
  bool operator==(const ConfigReport&) const = default;
};

// TrancheConfigured is True when the wanted configuration is in force, and False when it was
// refused and the one before stays in force, or when it is followed in part.
ConditionReport configured_condition(const ConfigReport& report);

// TrancheGrantsStored is False while the node's disk takes no grants. `stored`: how the last
// attempt ended.
ConditionReport stored_condition(const Result<void>& stored);

}  // namespace tranche::agent
