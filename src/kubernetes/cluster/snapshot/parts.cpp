#include "cluster/snapshot/parts.h"

#include <utility>

#include "base/canonical_json.h"
#include "cluster/fields.h"

namespace tranche::cluster {
namespace {

// The value under `key` in canonical form; empty: it is absent, or of another kind, which is
// refused.
std::string kept_json(const Fields& parent, std::string_view key, json::Kind kind) {
  const auto found = parent.view().find(key);
  if (!found || found->kind() == json::Kind::kNull) return {};
  if (found->kind() != kind) {
    parent.refuse(key, std::string("is ") + std::string(describe(found->kind())));
    return {};
  }
  auto kept = json::canonical_text(*found);
  if (!kept) parent.refuse(key, "holds a value that cannot be kept");
  return std::move(kept).value_or("");
}

// As the driver's reader leaves them: text as sent, which a file does not keep.
Result<void> make_canonical(ResourceClaim& claim) {
  for (auto& config : claim.configs) {
    if (config.parameters.empty()) continue;
    ASSIGN_OR_RETURN(const auto parsed, json::parse(config.parameters));
    auto kept = json::canonical_text(parsed);
    if (!kept) {
      return fail(Code::kInvalidArgument,
                  "ResourceClaim: opaque parameters hold a value that cannot be kept");
    }
    config.parameters = *std::move(kept);
  }
  return {};
}

}  // namespace

Result<SnapshotPod> parse_snapshot_pod(std::string_view text) {
  ASSIGN_OR_RETURN(auto pod, parse_pod(text));
  pod.container_ids.clear();  // only of use on the node
  auto result = read_object<SnapshotPod>("Pod", text, [](const Fields& top, SnapshotPod& value) {
    value.created = top.object("metadata").text("creationTimestamp");
    const auto spec = top.object("spec");
    value.priority = spec.number("priority");
    for (const auto& item : spec.list("tolerations")) {
      value.tolerations.push_back(
          {item.text("key"), item.text("operator"), item.text("value"), item.text("effect")});
    }
    value.affinity = kept_json(spec, "affinity", json::Kind::kObject);
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

Result<SnapshotClaim> parse_snapshot_claim(std::string_view text) {
  ASSIGN_OR_RETURN(auto claim, parse_resource_claim(text));
  TRY(make_canonical(claim));
  auto result = read_object<SnapshotClaim>(
      "ResourceClaim", text, [](const Fields& top, SnapshotClaim& value) {
        value.created = top.object("metadata").text("creationTimestamp");
        const auto devices = top.object("spec").object("devices");
        value.requests = kept_json(devices, "requests", json::Kind::kArray);
        value.constraints = kept_json(devices, "constraints", json::Kind::kArray);
      });
  if (result) result->claim = std::move(claim);
  return result;
}

Result<DeviceClass> parse_device_class(std::string_view text) {
  return read_object<DeviceClass>("DeviceClass", text, [](const Fields& top, DeviceClass& value) {
    const auto spec = top.object("spec");
    value = {.name = top.object("metadata").text("name"),
             .extended_resource = spec.text("extendedResourceName"),
             .selectors = kept_json(spec, "selectors", json::Kind::kArray)};
  });
}

}  // namespace tranche::cluster
