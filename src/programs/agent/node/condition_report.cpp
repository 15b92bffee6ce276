#include "agent/node/condition_report.h"

#include <fmt/format.h>

namespace tranche::agent {

ConditionReport configured_condition(const ConfigReport& report) {
  if (report.applied && !report.in_part.empty()) {
    return {.type = kConfiguredCondition,
            .good = false,
            .reason = cluster::reason::kConfigInPart,
            .message = fmt::format("{}; not followed: {}", report.message, report.in_part),
            .action = "Configure",
            // The Event ResourceWithheld reports it.
            .as_event = false};
  }
  return {
      .type = kConfiguredCondition,
      .good = report.applied,
      .reason = report.applied ? cluster::reason::kConfigApplied : cluster::reason::kConfigRefused,
      .message = report.message,
      .action = "Configure"};
}

ConditionReport stored_condition(const Result<void>& stored) {
  return {.type = kGrantsStoredCondition,
          .good = stored.has_value(),
          .reason = stored ? cluster::reason::kGrantsStored : cluster::reason::kGrantsNotStored,
          .message = stored ? "grants are stored"
                            : fmt::format("{}; limited containers are refused meanwhile",
                                          stored.error().message()),
          .action = "StoreGrants",
          .written_while_good = false};
}

}  // namespace tranche::agent
