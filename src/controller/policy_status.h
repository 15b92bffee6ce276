#pragma once
// What a ClusterPolicy's status says of us: conditions by type, and `state`. Pure: text in, text
// out.
//
// The GPU operator writes the same status. Its conditions (Ready, Error) are left alone; `state`,
// which its definition demands in every status, is written only where nobody else does: it is
// missing, or we are the one who reports here.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "controller/policy_map.h"

namespace tranche::controller {

struct PolicyStatus {
  std::vector<Condition> conditions;
  std::string state;  // "ready", "notReady", "ignored": the operator's words

  bool operator==(const PolicyStatus&) const = default;
};

// "ready" when the condition TrancheApplied is true.
PolicyStatus status_of(std::vector<Condition> conditions);

// The object with this status; nullopt when it says so already. lastTransitionTime changes only
// with a condition's status. Errors: it is no object.
Result<std::optional<std::string>> with_status(std::string_view object, const PolicyStatus& status,
                                               std::chrono::system_clock::time_point now);

// The condition TrancheApplied of an object; nullopt: it has none.
std::optional<Condition> applied_of(std::string_view object);

}  // namespace tranche::controller
