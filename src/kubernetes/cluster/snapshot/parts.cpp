#include "cluster/snapshot/parts.h"

#include <utility>

#include "base/canonical_json.h"
#include "cluster/fields.h"

namespace tranche::cluster {

Result<SnapshotPod> parse_snapshot_pod(std::string_view text) {
  ASSIGN_OR_RETURN(auto pod, parse_pod(text));
  auto result = read_object<SnapshotPod>("Pod", text, [](const Fields& top, SnapshotPod& value) {
    value.created = top.object("metadata").text("creationTimestamp");
    const auto spec = top.object("spec");
    value.priority = spec.number("priority");
    for (const auto& item : spec.list("tolerations")) {
      value.tolerations.push_back(
          {item.text("key"), item.text("operator"), item.text("value"), item.text("effect")});
    }
    const auto affinity = spec.object("affinity").view();
    if (affinity.kind() == json::Kind::kObject) {
      auto kept = json::canonical_text(affinity);
      if (!kept) spec.refuse("affinity", "holds a value that cannot be kept");
      value.affinity = std::move(kept).value_or("");
    }
  });
  if (result) result->pod = std::move(pod);
  return result;
}

Result<SnapshotNamespace> parse_namespace(std::string_view text) {
  return read_object<SnapshotNamespace>(
      "Namespace", text, [](const Fields& top, SnapshotNamespace& value) {
        value = {top.object("metadata").text("name"), top.object("metadata").map("labels")};
      });
}

Result<ResourceQuota> parse_resource_quota(std::string_view text) {
  return read_object<ResourceQuota>(
      "ResourceQuota", text, [](const Fields& top, ResourceQuota& quota) {
        const auto metadata = top.object("metadata");
        quota.key = {metadata.text("namespace"), metadata.text("name")};
        const auto spec = top.object("spec");
        quota.hard = spec.map("hard");
        quota.used = top.object("status").map("used");
        quota.scopes = read_texts(spec, "scopes");
        quota.scope_expressions =
            read_expressions(spec.object("scopeSelector"), "matchExpressions");
      });
}

Result<DisruptionBudget> parse_disruption_budget(std::string_view text) {
  return read_object<DisruptionBudget>(
      "PodDisruptionBudget", text, [](const Fields& top, DisruptionBudget& budget) {
        const auto metadata = top.object("metadata");
        budget.key = {metadata.text("namespace"), metadata.text("name")};
        budget.selector = read_selector(top.object("spec"), "selector");
        budget.disruptions_allowed = top.object("status").number("disruptionsAllowed");
      });
}

}  // namespace tranche::cluster
