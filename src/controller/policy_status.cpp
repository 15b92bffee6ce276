#include "controller/policy_status.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cluster/time.h"

namespace tranche::controller {
namespace {

using nlohmann::json;

std::string text(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

json* find_condition(json& conditions, const std::string& type) {
  const auto found = std::ranges::find_if(conditions, [&](const json& known) {
    return known.is_object() && text(known, "type") == type;
  });
  return found == conditions.end() ? nullptr : &*found;
}

void put(json& conditions, const Condition& condition, const json& generation,
         const std::string& time) {
  const char* const status = condition.is_true ? "True" : "False";
  auto* known = find_condition(conditions, condition.type);
  if (known == nullptr) known = &conditions.emplace_back(json{{"type", condition.type}});
  auto& entry = *known;
  if (text(entry, "status") != status || text(entry, "lastTransitionTime").empty()) {
    entry["lastTransitionTime"] = time;
  }
  entry["status"] = status;
  entry["reason"] = condition.reason;
  entry["message"] = condition.message;
  if (generation.is_number()) entry["observedGeneration"] = generation;
}

bool is_ours(const json& condition) {
  return condition.is_object() && text(condition, "type").starts_with("Tranche");
}

// `conditions`: before ours are put into them. The operator fills status.namespace.
bool owns_state(const json& status, const json& conditions) {
  if (text(status, "state").empty()) return true;
  return !conditions.empty() && std::ranges::all_of(conditions, is_ours) &&
         text(status, "namespace").empty();
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
  json changed = json::parse(object, nullptr, false);
  if (!changed.is_object() || !changed.value("metadata", json()).is_object()) {
    return fail(Code::kInvalidArgument, "ClusterPolicy: no JSON object");
  }
  const json before = changed;
  auto& part = changed["status"];
  if (!part.is_object()) part = json::object();
  auto& conditions = part["conditions"];
  if (!conditions.is_array()) conditions = json::array();
  if (owns_state(part, conditions)) part["state"] = status.state;
  // A condition's times are whole seconds.
  const auto time = cluster::micro_time(now).substr(0, 19) + "Z";
  const auto generation = changed["metadata"].value("generation", json());
  for (const auto& condition : status.conditions) put(conditions, condition, generation, time);
  if (changed == before) return std::nullopt;
  return changed.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::optional<Condition> applied_of(std::string_view object) {
  auto parsed = json::parse(object, nullptr, false);
  if (!parsed.is_object() || !parsed["status"].is_object()) return std::nullopt;
  auto& conditions = parsed["status"]["conditions"];
  if (!conditions.is_array()) return std::nullopt;
  const auto* found = find_condition(conditions, kAppliedCondition);
  if (found == nullptr) return std::nullopt;
  return Condition{kAppliedCondition, text(*found, "status") == "True", text(*found, "reason"),
                   text(*found, "message")};
}

}  // namespace tranche::controller
