#include "controller/policy_status.h"

#include <algorithm>
#include <vector>

#include "base/canonical_json.h"
#include "base/json.h"
#include "base/json_value.h"
#include "cluster/time.h"

namespace tranche::controller {
namespace {

// The text under `key`; empty if there is none.
std::string text(json::View object, std::string_view key) {
  return object.find(key).value_or(json::View()).as_string().value_or("");
}

bool is_object(json::View value) { return value.kind() == json::Kind::kObject; }

// A condition before the change (null: it is new) and after it.
struct Entry {
  json::View before;
  json::Value after;
};

std::vector<Entry> entries_of(json::View conditions) {
  std::vector<Entry> entries;
  for (const auto& known : conditions.elements()) {
    entries.push_back({known, json::Value::copy(known)});
  }
  return entries;
}

json::View find_condition(json::View conditions, const std::string& type) {
  const auto all = conditions.elements();
  const auto found =
      std::ranges::find_if(all, [&](json::View known) { return text(known, "type") == type; });
  return found == all.end() ? json::View() : *found;
}

void put(std::vector<Entry>& entries, const Condition& condition, json::View generation,
         const std::string& time) {
  const char* const status = condition.is_true ? "True" : "False";
  auto found = std::ranges::find_if(
      entries, [&](const Entry& entry) { return text(entry.before, "type") == condition.type; });
  if (found == entries.end()) {
    found = entries.insert(found, {json::View(), {{"type", condition.type}}});
  }
  auto& [before, after] = *found;
  if (text(before, "status") != status || text(before, "lastTransitionTime").empty()) {
    after["lastTransitionTime"] = time;
  }
  after["status"] = status;
  after["reason"] = condition.reason;
  after["message"] = condition.message;
  if (generation.kind() == json::Kind::kNumber) {
    after["observedGeneration"] = json::Value::copy(generation);
  }
}

bool is_ours(json::View condition) { return text(condition, "type").starts_with("Tranche"); }

// Whether we write `state`. `status`: as it was before our change. The operator sets
// status.namespace.
bool owns_state(json::View status) {
  if (text(status, "state").empty()) return true;
  const auto conditions = status.find("conditions").value_or(json::View()).elements();
  return !conditions.empty() && std::ranges::all_of(conditions, is_ours) &&
         text(status, "namespace").empty();
}

json::Value status_after(json::View before, const PolicyStatus& status, json::View generation,
                         const std::string& time) {
  auto after = is_object(before) ? json::Value::copy(before) : json::Value::object();
  if (owns_state(before)) after["state"] = status.state;
  auto entries = entries_of(before.find("conditions").value_or(json::View()));
  for (const auto& condition : status.conditions) put(entries, condition, generation, time);
  auto& conditions = after["conditions"] = json::Value::array();
  for (auto& entry : entries) conditions.push_back(std::move(entry.after));
  return after;
}

}  // namespace

PolicyStatus status_of(std::vector<Condition> conditions) {
  const bool ready = std::ranges::any_of(conditions, [](const Condition& condition) {
    return condition.type == kAppliedCondition && condition.is_true;
  });
  return {std::move(conditions), ready ? "ready" : "notReady"};
}

Result<std::optional<std::string>> with_status(std::string_view object, const PolicyStatus& status,
                                               std::chrono::system_clock::time_point now) {
  const auto root = json::parse(object);
  const auto before = root ? json::canonical_text(*root) : std::nullopt;
  const auto metadata = root ? root->find("metadata") : std::nullopt;
  if (!before || !metadata || !is_object(*metadata)) {
    return fail(Code::kInvalidArgument, "ClusterPolicy: no JSON object");
  }
  // Conditions have times in whole seconds.
  const auto time = cluster::whole_second_time(now);
  const auto generation = metadata->find("generation").value_or(json::View());
  auto changed = json::Value::copy(*root);
  changed["status"] =
      status_after(root->find("status").value_or(json::View()), status, generation, time);
  const auto written = changed.text();
  const auto parsed = json::parse(written);
  auto after = parsed ? json::canonical_text(*parsed) : std::nullopt;
  if (after == before) return std::nullopt;
  return after;
}

std::optional<Condition> applied_of(std::string_view object) {
  const auto root = json::parse(object);
  const auto conditions = root ? root->at({"status", "conditions"}) : std::nullopt;
  const auto found = find_condition(conditions.value_or(json::View()), kAppliedCondition);
  if (!is_object(found)) return std::nullopt;
  return Condition{kAppliedCondition, text(found, "status") == "True", text(found, "reason"),
                   text(found, "message")};
}

}  // namespace tranche::controller
