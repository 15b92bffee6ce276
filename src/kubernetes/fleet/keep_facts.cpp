// What a watch keeps of an object, in Kubernetes' own form.

#include <utility>

#include "base/json_value.h"
#include "base/utf8.h"
#include "cluster/formats/reasons.h"
#include "cluster/object.h"
#include "cluster/to_json.h"
#include "fleet/read_facts.h"

namespace tranche::fleet {
namespace {

using cluster::set_text;
using json::Value;

// Longer than any message that is shown: a tenant's image name is in some.
constexpr std::size_t kMostText = 2048;

std::string shortened(const std::string& text) { return std::string(utf8_prefix(text, kMostText)); }

Value condition(std::string_view type, std::string_view status, const std::string& reason = {},
                const std::string& message = {}) {
  Value made = {{"type", type}, {"status", status}};
  set_text(made, "reason", reason);
  set_text(made, "message", shortened(message));
  return made;
}

Value json_of(const NodeFacts& node) {
  Value json = {{"metadata", {{"name", node.name}}}};
  json["metadata"]["labels"] = node.labels;
  for (const auto& taint : node.taints) {
    json["spec"]["taints"].push_back(
        {{"key", taint.key}, {"value", taint.value}, {"effect", taint.effect}});
  }
  if (node.cordoned) json["spec"]["unschedulable"] = true;
  for (const auto& [resource, count] : node.resources) {
    json["status"]["capacity"][resource] = std::to_string(count.capacity);
    json["status"]["allocatable"][resource] = std::to_string(count.allocatable);
  }
  auto& conditions = json["status"]["conditions"];
  conditions = Value::array();
  if (node.ready) conditions.push_back(condition("Ready", *node.ready ? "True" : "False"));
  if (!node.not_serving.empty()) {
    conditions.push_back(condition(cluster::condition::kTrancheServing, "False", node.not_serving));
  }
  return json;
}

Value metadata_of(const PodFacts& pod) {
  Value metadata = {{"name", pod.key.name},
                    {"creationTimestamp", cluster::whole_second_time(pod.created)}};
  set_text(metadata, "namespace", pod.key.ns);
  return metadata;
}

Value spec_of(const PodFacts& pod) {
  auto spec = Value::object();
  set_text(spec, "nodeName", pod.node);
  set_text(spec, "priorityClassName", pod.priority_class);
  if (!pod.node_selector.empty()) spec["nodeSelector"] = pod.node_selector;
  for (const auto& gate : pod.gates) spec["schedulingGates"].push_back({{"name", gate}});
  for (const auto& one : pod.tolerations) {
    auto toleration = Value::object();
    set_text(toleration, "key", one.key);
    set_text(toleration, "operator", one.op);
    set_text(toleration, "value", one.value);
    set_text(toleration, "effect", one.effect);
    spec["tolerations"].push_back(std::move(toleration));
  }
  auto requests = Value::object();
  for (const auto& [resource, count] : pod.wants) requests[resource] = std::to_string(count);
  if (!pod.wants.empty()) {
    Value container = {{"name", "all"}};
    container["resources"]["requests"] = std::move(requests);
    spec["containers"].push_back(std::move(container));
  }
  for (const auto& claim : pod.claims) {
    Value made = {{"name", "claim"}};
    set_text(made, "resourceClaimName", claim);
    spec["resourceClaims"].push_back(std::move(made));
  }
  return spec;
}

Value status_of(const PodFacts& pod) {
  auto status = Value::object();
  set_text(status, "phase", pod.phase);
  set_text(status, "reason", pod.reason);
  set_text(status, "message", shortened(pod.message));
  if (!pod.unscheduled_reason.empty()) {
    status["conditions"].push_back(
        condition("PodScheduled", "False", pod.unscheduled_reason, pod.unscheduled_message));
  }
  if (!pod.starting.empty()) {
    Value container = {{"name", "all"}};
    container["state"]["waiting"]["reason"] = shortened(pod.starting);
    status["containerStatuses"].push_back(std::move(container));
  }
  return status;
}

// Parsing a Pod costs a hundred times what this look costs.
bool may_ask(std::string_view pod) {
  return pod.find(kGpuDomain) != std::string_view::npos ||
         pod.find("\"resourceClaims\"") != std::string_view::npos;
}

}  // namespace

std::string kept_of_node(const std::string& json) {
  const auto node = read_node(json);
  return node ? json_of(*node).text() : json;
}

std::string kept_of_pod(const std::string& json) {
  if (!may_ask(json)) return {};
  const auto pod = read_pod(json);
  if (!pod) return json;
  if (!*pod) return {};
  return Value{
      {"metadata", metadata_of(**pod)}, {"spec", spec_of(**pod)}, {"status", status_of(**pod)}}
      .text();
}

std::string kept_of_claim(const std::string& json) {
  const auto claim = read_claim(json);
  const auto object = cluster::parse_object(json);
  if (!claim || !object) return json;
  Value kept = {{"metadata", {{"name", object->key.name}}}};
  set_text(kept["metadata"], "namespace", object->key.ns);
  for (const auto& wish : claim->wants) {
    kept["spec"]["devices"]["requests"].push_back(
        {{"exactly", {{"deviceClassName", wish.resource}, {"count", wish.count}}}});
  }
  if (claim->allocated) kept["status"]["allocation"] = Value::object();
  return kept.text();
}

}  // namespace tranche::fleet
