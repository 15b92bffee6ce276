#pragma once
// Our part of a ClusterPolicy's status: conditions by type, and `state`. Pure: text in, text out.
//
// The GPU operator writes the same status. Its conditions (Ready, Error) are left alone. The CRD
// requires `state` in every status, so it is written if it is missing, or if we are the ones who
// report here.

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
  std::string state;  // one of the operator's words: "ready", "notReady", "ignored"

  bool operator==(const PolicyStatus&) const = default;
};

// A status with `state` "ready" when the condition TrancheApplied is true.
PolicyStatus status_of(std::vector<Condition> conditions);

// The object's JSON with this status; nullopt: it already has it. lastTransitionTime changes only
// with a condition's status. Errors: the text is not an object.
Result<std::optional<std::string>> with_status(std::string_view object, const PolicyStatus& status,
                                               std::chrono::system_clock::time_point now);

// The condition TrancheApplied of an object's JSON; nullopt: it has none.
std::optional<Condition> applied_of(std::string_view object);

}  // namespace tranche::controller
