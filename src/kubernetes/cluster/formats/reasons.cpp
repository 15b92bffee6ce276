#include "cluster/formats/reasons.h"

#include <fmt/format.h>

#include <array>

namespace tranche::cluster {
namespace {

constexpr std::string_view kTrue = "True";
constexpr std::string_view kFalse = "False";
[[maybe_unused]] constexpr std::string_view kUnknown = "Unknown";
constexpr bool kWarning = true;
[[maybe_unused]] constexpr bool kNormal = false;

#define CONDITION(type, object, meaning) ConditionDoc{#type, #object, meaning},
#define CONDITION_REASON(type, reason, status, meaning)
#define EVENT(reason, objects, kind, meaning)
#define DEVICE_REASON(reason, status, meaning)
constexpr auto kConditions = std::to_array<ConditionDoc>({
#include "cluster/formats/reasons.def"
});
#undef CONDITION
#undef CONDITION_REASON

#define CONDITION(type, object, meaning)
#define CONDITION_REASON(type, reason, status, meaning) \
  ConditionReasonDoc{condition::k##type, #reason, status, meaning},
constexpr auto kConditionReasons = std::to_array<ConditionReasonDoc>({
#include "cluster/formats/reasons.def"
});
#undef CONDITION_REASON
#undef EVENT

#define CONDITION_REASON(type, reason, status, meaning)
#define EVENT(reason, objects, kind, meaning) EventDoc{#reason, objects, kind, meaning},
constexpr auto kEvents = std::to_array<EventDoc>({
#include "cluster/formats/reasons.def"
});
#undef EVENT
#undef DEVICE_REASON

#define EVENT(reason, objects, kind, meaning)
#define DEVICE_REASON(reason, status, meaning) DeviceReasonDoc{#reason, status, meaning},
constexpr auto kDeviceReasons = std::to_array<DeviceReasonDoc>({
#include "cluster/formats/reasons.def"
});
#undef CONDITION
#undef CONDITION_REASON
#undef EVENT
#undef DEVICE_REASON

constexpr std::string_view kHeader = R"(# Conditions and Events

<!-- Made from src/kubernetes/cluster/formats/reasons.def. -->

What `kubectl describe` shows of Tranche. Each change of a condition is also an Event with the condition's reason.
What to do: [runbook](../runbook.md#conditions).

    kubectl get events -A --field-selector reportingComponent=tranche.dev/agent
    kubectl get events -A --field-selector reportingComponent=tranche.dev/controller

## Conditions and their reasons

In bold a condition, with what its True means; below it its reasons. `TrancheGrantsStored`, `TrancheDevicesFree`,
`TrancheClaimsDrained`, `TrancheArbiterRuns` and `TrancheMigPlanned` appear when they are False for the first time.
)";

constexpr std::string_view kEventHeader = R"(
## Events

What each is about, in brackets. Of type Warning, but where it says Normal.

)";

constexpr std::string_view kDeviceHeader = R"(
## Reasons of a claim's devices

The condition `Ready` of each device in `status.devices` of a ResourceClaim ([claims](../dra.md)).

)";

}  // namespace

std::span<const ConditionDoc> condition_table() { return kConditions; }

std::span<const ConditionReasonDoc> condition_reason_table() { return kConditionReasons; }

std::span<const EventDoc> event_table() { return kEvents; }

std::span<const DeviceReasonDoc> device_reason_table() { return kDeviceReasons; }

std::string render_reasons() {
  std::string text(kHeader);
  for (const auto& condition : kConditions) {
    text += fmt::format("\n**`{}`** of {}: {}\n\n", condition.type, condition.object,
                        condition.meaning);
    for (const auto& row : kConditionReasons) {
      if (row.condition != condition.type) continue;
      text += fmt::format("- `{}` ({}): {}\n", row.reason, row.status, row.meaning);
    }
  }
  text += kEventHeader;
  for (const auto& row : kEvents) {
    text += fmt::format("- `{}` ({}{}): {}\n", row.reason, row.objects,
                        row.warning ? "" : "; Normal", row.meaning);
  }
  text += kDeviceHeader;
  for (const auto& row : kDeviceReasons) {
    text += fmt::format("- `{}` ({}): {}\n", row.reason, row.status, row.meaning);
  }
  return text;
}

}  // namespace tranche::cluster
