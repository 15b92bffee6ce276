// Snapshot -> text. Reading: decode.cpp.

#include "base/canonical_json.h"
#include "base/envelope.h"
#include "base/json_value.h"
#include "cluster/snapshot/encoding.h"
#include "cluster/snapshot/writers.h"

namespace tranche::cluster {
namespace {

using Json = json::Value;

Json json_of(const NodeConfiguration& configuration) {
  return {
      {"origin", optional_of(configuration.origin, [](const auto& text) { return Json(text); })},
      {"condition", json_of(configuration.condition)}};
}

Json json_of(const SnapshotNode& node) {
  return {{"node", json_of(node.node)},
          {"configuration",
           optional_of(node.configuration, [](const auto& value) { return json_of(value); })}};
}

Json json_of(const Gap& gap) {
  return {{"resource", gap.resource},
          {"name", gap.name},
          {"code", to_string(gap.code)},
          {"message", gap.message}};
}

std::string snapshot_text(const json::Value& value) {
  return value.text(json::Value::Order::kSorted);
}

template <class Range>
std::string list_text(const Range& values) {
  std::string text = "[";
  for (const auto& value : values) {
    if (text.size() > 1) text += ',';
    text += snapshot_text(json_of(value));
  }
  return text + ']';
}

std::string body_of(const Snapshot& snapshot) {
  return json::object_text({{"takenAt", snapshot_text(micro_time(snapshot.taken_at))},
                            {"server", snapshot_text(snapshot.server)},
                            {"takenBy", snapshot_text(snapshot.taken_by)},
                            {"nodes", list_text(snapshot.nodes)},
                            {"pods", list_text(snapshot.pods)},
                            {"configMaps", list_text(snapshot.config_maps)},
                            {"clusterPolicies", list_text(snapshot.cluster_policies)},
                            {"tiers", list_text(snapshot.tiers)},
                            {"namespaces", list_text(snapshot.namespaces)},
                            {"resourceQuotas", list_text(snapshot.quotas)},
                            {"disruptionBudgets", list_text(snapshot.budgets)},
                            {"resourceSlices", list_text(snapshot.slices)},
                            {"resourceClaims", list_text(snapshot.claims)},
                            {"deviceClasses", list_text(snapshot.device_classes)},
                            {"gpuNodes", list_text(snapshot.gpu_nodes)},
                            {"gaps", list_text(snapshot.gaps)}});
}

}  // namespace

std::string encode(const Snapshot& snapshot) {
  return seal(kSnapshot, body_of(sorted(snapshot))) + "\n";
}

}  // namespace tranche::cluster
