#pragma once
// The machine-readable words in the output of `kubectl describe`: condition types, and reasons of
// conditions and Events. They come from one list, cluster/formats/reasons.def. No other file spells
// them as strings (tests/docs/test_reasons.py), so that the reference and the runbook list all of
// them.

#include <span>
#include <string>
#include <string_view>

namespace tranche::cluster {

// Types of conditions: condition::kTrancheConfigured is "TrancheConfigured".
namespace condition {
#define CONDITION(type, object, meaning) inline constexpr const char* k##type = #type;
#define CONDITION_REASON(type, reason, status, meaning)
#define EVENT(reason, objects, kind, meaning)
#define DEVICE_REASON(reason, status, meaning)
#include "cluster/formats/reasons.def"
#undef CONDITION
#undef CONDITION_REASON
#undef EVENT
#undef DEVICE_REASON
}  // namespace condition

// Reasons of conditions and of Events: reason::kResourceWithheld is "ResourceWithheld".
namespace reason {
#define CONDITION(type, object, meaning)
#define CONDITION_REASON(type, reason, status, meaning) \
  inline constexpr const char* k##reason = #reason;
#define EVENT(reason, objects, kind, meaning) inline constexpr const char* k##reason = #reason;
#define DEVICE_REASON(reason, status, meaning) inline constexpr const char* k##reason = #reason;
#include "cluster/formats/reasons.def"
#undef CONDITION
#undef CONDITION_REASON
#undef EVENT
#undef DEVICE_REASON
}  // namespace reason

struct ConditionDoc {
  std::string_view type;
  std::string_view object;   // its kind: "Node", "ClusterPolicy"
  std::string_view meaning;  // of True
};

struct ConditionReasonDoc {
  std::string_view condition;
  std::string_view reason;
  std::string_view status;  // "True", "False", "Unknown"
  std::string_view meaning;
};

struct EventDoc {
  std::string_view reason;
  std::string_view objects;  // the objects concerned: "Node, Pod"
  bool warning = false;
  std::string_view meaning;
};

// For the condition Ready of a device in a claim's status.devices (cluster/device_status.h).
struct DeviceReasonDoc {
  std::string_view reason;
  std::string_view status;  // "True", "False"
  std::string_view meaning;
};

// In the order of the list.
std::span<const ConditionDoc> condition_table();
std::span<const ConditionReasonDoc> condition_reason_table();
// Those without a condition.
std::span<const EventDoc> event_table();
std::span<const DeviceReasonDoc> device_reason_table();

// The page docs/reference/events.md.
std::string render_reasons();

}  // namespace tranche::cluster
