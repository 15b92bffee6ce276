#include "agent/cleanup/cleanup_objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "agent/labels/node_feature_writer.h"
#include "agent/node/condition_report.h"
#include "base/json.h"
#include "base/json_value.h"
#include "cluster/formats/eviction_requests.h"
#include "cluster/formats/limit_settings.h"
#include "cluster/formats/mig_change.h"
#include "cluster/formats/reasons.h"
#include "cluster/node.h"

namespace tranche::agent {
namespace {

using Removed = Result<std::vector<std::string>>;

// nullopt: the object, or its kind, does not exist (any more).
Result<std::optional<cluster::Object>> find(cluster::Objects& objects, const cluster::Kind& kind,
                                            const cluster::ObjectKey& key,
                                            const std::stop_token& stop) {
  auto object = objects.get(kind, key, {.stop = stop});
  if (object) return *std::move(object);
  if (object.error().code == Code::kNotFound) return std::nullopt;
  return std::unexpected(std::move(object).error());
}

bool is_managed_by_us(const std::string& text) {
  const auto root = json::parse(text);
  const auto managers = root ? root->at({"metadata", "managedFields"}) : std::nullopt;
  if (!managers) return false;
  return std::ranges::any_of(managers->elements(), [](const json::View& entry) {
    const auto manager = entry.find("manager");
    return manager && manager->as_string() == kLabelFieldManager;
  });
}

}  // namespace

Removed clear_node_labels(cluster::Objects& objects, const std::string& node,
                          const std::stop_token& stop) {
  const cluster::ObjectKey key{.ns = "", .name = node};
  ASSIGN_OR_RETURN(const auto object, find(objects, cluster::kNode, key, stop));
  std::vector<std::string> removed;
  if (!object) return removed;
  ASSIGN_OR_RETURN(const auto before, cluster::parse_node(object->json));
  // With the uid, apply fails if the Node was deleted meanwhile. Otherwise it would create a Node.
  const json::Value none = {
      {"apiVersion", "v1"}, {"kind", "Node"}, {"metadata", {{"name", node}, {"uid", object->uid}}}};
  ASSIGN_OR_RETURN(
      const auto applied,
      objects.apply(cluster::kNode, key, {.json = none.text(), .field_manager = kLabelFieldManager},
                    {.stop = stop}));
  ASSIGN_OR_RETURN(const auto after, cluster::parse_node(applied.json));
  for (const auto& [label, value] : before.labels) {
    if (!after.labels.contains(label)) removed.push_back("label " + label);
  }
  return removed;
}

Removed clear_node_feature(cluster::Objects& objects, const std::string& ns,
                           const std::string& node, const std::stop_token& stop) {
  const cluster::ObjectKey key{.ns = ns, .name = "nvidia-features-for-" + node};
  ASSIGN_OR_RETURN(const auto object, find(objects, cluster::kNodeFeature, key, stop));
  if (!object || !is_managed_by_us(object->json)) return std::vector<std::string>();
  const auto gone =
      objects.remove(cluster::kNodeFeature, key, {.uid = object->uid}, {.stop = stop});
  if (gone) return std::vector<std::string>{"NodeFeature " + key.to_string()};
  if (gone.error().code == Code::kNotFound) return std::vector<std::string>();
  return std::unexpected(gone.error());
}

Removed clear_gpu_node(cluster::Objects& objects, const std::string& node,
                       const std::stop_token& stop) {
  const auto gone = objects.remove(cluster::kGpuNode, {.ns = "", .name = node}, {}, {.stop = stop});
  if (gone) return std::vector<std::string>{"GPUNode " + node};
  if (gone.error().code == Code::kNotFound) return std::vector<std::string>();
  return std::unexpected(gone.error());
}

Removed clear_condition(cluster::Objects& objects, const std::string& node,
                        const std::stop_token& stop) {
  const cluster::ObjectKey key{.ns = "", .name = node};
  ASSIGN_OR_RETURN(const auto object, find(objects, cluster::kNode, key, stop));
  if (!object) return std::vector<std::string>();
  ASSIGN_OR_RETURN(const auto before, cluster::parse_node(object->json));
  std::vector<std::string> found;
  json::Value patch;
  for (const auto& [type, of, meaning] : cluster::condition_table()) {
    if (of != cluster::kNode.kind ||
        std::ranges::find(before.conditions, type, &cluster::NodeCondition::type) ==
            before.conditions.end()) {
      continue;
    }
    patch["status"]["conditions"].push_back({{"$patch", "delete"}, {"type", type}});
    found.push_back(fmt::format("condition {} of Node {}", type, node));
  }
  // Requests to the controller: a label and an annotation of one name each. It removes its cordon
  // when the label of a change goes.
  for (const auto* name : {cluster::kEvictRequestsAnnotation, cluster::kMigChangeAnnotation}) {
    if (!before.annotations.contains(name) && !before.labels.contains(name)) continue;
    patch["metadata"]["labels"][name] = nullptr;
    patch["metadata"]["annotations"][name] = nullptr;
    found.push_back(fmt::format("annotation {} of Node {}", name, node));
  }
  for (const auto* name : {cluster::kLimitStatusAnnotation, cluster::kMigAppliedAnnotation}) {
    if (!before.annotations.contains(name)) continue;
    patch["metadata"]["annotations"][name] = nullptr;
    found.push_back(fmt::format("annotation {} of Node {}", name, node));
  }
  if (found.empty()) return found;
  auto patched = objects.patch(
      cluster::kNode, key,
      {.type = cluster::PatchType::kStrategic, .json = patch.text(), .subresource = "status"},
      {.stop = stop});
  if (!patched) return std::unexpected(std::move(patched).error());
  return found;
}

}  // namespace tranche::agent
