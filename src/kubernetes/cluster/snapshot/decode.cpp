// Text -> snapshot: strict about the parts of ours, and the objects left to their own readers.

#include <fmt/format.h>

#include <set>

#include "cluster/fields.h"
#include "cluster/snapshot/early_gpus.h"
#include "cluster/snapshot/encoding.h"
#include "cluster/snapshot/parts.h"

namespace tranche::cluster {
namespace {

std::unexpected<Error> refuse(std::string why, std::string hint = {}) {
  return fail(Code::kInvalidArgument, "snapshot: " + std::move(why), std::move(hint));
}

// Every key of our own parts must be present, null if nothing is known: a lost key is not an empty
// list.
void require_lists(const Fields& fields, std::initializer_list<std::string_view> keys) {
  fields.require(keys);
  for (const auto key : keys) {
    const auto found = fields.view().find(key);
    if (found && found->kind() == json::Kind::kNull) fields.refuse(key, "is null, no list");
  }
}

bool is_known(const Fields& fields, std::string_view key) {
  const auto found = fields.view().find(key);
  return found && found->kind() != json::Kind::kNull;
}

NodeCondition read_condition(const Fields& fields) {
  return {fields.text("type"), fields.text("status"), fields.text("reason"),
          fields.text("message")};
}

std::optional<NodeConfiguration> read_configuration(const Fields& entry) {
  if (!is_known(entry, "configuration")) return std::nullopt;
  const auto fields = entry.object("configuration");
  fields.require({"origin", "condition"});
  return NodeConfiguration{fields.maybe_text("origin"), read_condition(fields.object("condition"))};
}

Gap read_gap(const Fields& fields) {
  fields.require({"resource", "name", "code", "message"});
  Gap gap{fields.text("resource"), fields.text("name"), Code::kInternal, fields.text("message")};
  const auto name = fields.text("code");
  for (int code = 0; code <= static_cast<int>(Code::kInternal); ++code) {
    gap.code = static_cast<Code>(code);
    if (to_string(gap.code) == name) return gap;
  }
  fields.refuse("code", fmt::format("is \"{}\", no code of ours", name));
  return gap;
}

// Keeps the first error of all the parts.
class Reader {
 public:
  explicit Reader(json::View body) : top_(body, "", error_) {}

  Result<Snapshot> read();

 private:
  // The objects under `key` by their own reader; each key of `key_of` may be there once.
  template <class Parse, class KeyOf>
  auto objects(std::string_view key, const Parse& parse, const KeyOf& key_of) {
    std::vector<typename decltype(parse(std::string_view()))::value_type> values;
    std::set<ObjectKey> seen;
    for (const auto& item : top_.list(key)) {
      auto value = parse(item.view().text());
      if (!value) {
        refuse_item(key, values.size(), value.error().what);
        return values;
      }
      if (!seen.insert(key_of(*value)).second) {
        refuse_item(key, values.size(),
                    fmt::format("{} is there twice", key_of(*value).to_string()));
      }
      values.push_back(*std::move(value));
    }
    return values;
  }

  void refuse_item(std::string_view key, std::size_t index, const std::string& why) {
    if (error_) return;
    error_ = Error{Code::kInvalidArgument, fmt::format("{}[{}]: {}", key, index, why)};
  }

  std::vector<SnapshotNode> read_nodes();
  bool keeps(std::string_view key, const Kind& kind, Snapshot& snapshot);
  void read_later_lists(Snapshot& snapshot);

  std::optional<Error> error_;
  Fields top_;
};

std::vector<SnapshotNode> Reader::read_nodes() {
  std::vector<SnapshotNode> nodes;
  std::set<std::string> seen;
  for (const auto& entry : top_.list("nodes")) {
    entry.require({"node", "configuration"});
    auto node = parse_node(entry.object("node").view().text());
    if (!node) {
      refuse_item("nodes", nodes.size(), node.error().what);
      return nodes;
    }
    if (!seen.insert(node->name).second) {
      refuse_item("nodes", nodes.size(), node->name + " is there twice");
    }
    nodes.push_back({*std::move(node), read_configuration(entry)});
  }
  return nodes;
}

Result<ClusterPolicy> parse_policy(std::string_view text) {
  ASSIGN_OR_RETURN(auto policy, parse_cluster_policy(text));
  auto others = read_object<std::vector<std::string>>(
      "ClusterPolicy", text, [](const Fields& top, std::vector<std::string>& fields) {
        fields = read_texts(top, "otherFields");
      });
  if (!others) return std::unexpected(std::move(others).error());
  policy.other_fields = *std::move(others);
  return policy;
}

// Whether the file has the list. One of a release that did not keep the kind gets a gap: nobody
// looked.
bool Reader::keeps(std::string_view key, const Kind& kind, Snapshot& snapshot) {
  if (top_.has(key)) {
    require_lists(top_, {key});
    return true;
  }
  snapshot.gaps.push_back(
      {kind.resource(), "", Code::kUnsupported,
       fmt::format("not in this file: {} did not keep them yet", snapshot.taken_by)});
  return false;
}

// Lists that the first snapshot/v1 did not have.
void Reader::read_later_lists(Snapshot& snapshot) {
  const auto named = [](const auto& value) { return ObjectKey{"", value.name}; };
  if (keeps("resourceSlices", kResourceSlice, snapshot)) {
    snapshot.slices = objects("resourceSlices", parse_resource_slice, named);
  }
  if (keeps("resourceClaims", kResourceClaim, snapshot)) {
    snapshot.claims = objects("resourceClaims", parse_snapshot_claim,
                              [](const SnapshotClaim& value) { return value.claim.key; });
  }
  if (keeps("deviceClasses", kDeviceClass, snapshot)) {
    snapshot.device_classes = objects("deviceClasses", parse_device_class, named);
  }
  if (keeps("gpuNodes", kGpuNode, snapshot)) {
    snapshot.gpu_nodes = objects("gpuNodes", parse_gpu_node, named);
  } else {
    for (const auto& entry : top_.list("nodes")) {
      if (auto node = read_early_gpus(entry)) snapshot.gpu_nodes.push_back(*std::move(node));
    }
  }
}

Result<Snapshot> Reader::read() {
  top_.require({"takenAt", "server", "takenBy"});
  require_lists(top_, {"nodes", "pods", "configMaps", "clusterPolicies", "tiers", "namespaces",
                       "resourceQuotas", "disruptionBudgets", "gaps"});
  const auto named = [](const auto& value) { return ObjectKey{"", value.name}; };
  const auto keyed = [](const auto& value) { return value.key; };
  Snapshot snapshot;
  const auto taken_at = parse_time(top_.text("takenAt"));
  if (!taken_at) top_.refuse("takenAt", "is no time: " + taken_at.error().what);
  snapshot.taken_at = taken_at.value_or(WallTime());
  snapshot.server = top_.text("server");
  snapshot.taken_by = top_.text("takenBy");
  snapshot.nodes = read_nodes();
  snapshot.pods = objects("pods", parse_snapshot_pod, [](const SnapshotPod& value) {
    return ObjectKey{value.pod.ns, value.pod.name};
  });
  snapshot.config_maps = objects("configMaps", parse_config_map, keyed);
  snapshot.cluster_policies = objects("clusterPolicies", parse_policy, named);
  snapshot.tiers = objects("tiers", parse_gpu_tier, named);
  snapshot.namespaces = objects("namespaces", parse_namespace, named);
  snapshot.quotas = objects("resourceQuotas", parse_resource_quota, keyed);
  snapshot.budgets = objects("disruptionBudgets", parse_disruption_budget, keyed);
  read_later_lists(snapshot);
  for (const auto& gap : top_.list("gaps")) snapshot.gaps.push_back(read_gap(gap));
  if (error_) return std::unexpected(std::move(*error_).with_context("snapshot"));
  return sorted(std::move(snapshot));
}

}  // namespace

Result<Snapshot> decode(std::string_view text) {
  const auto body = unseal(kSnapshot, text);
  if (!body) {
    return refuse(body.error().what,
                  "take it again with this release, or read it with the one that took it");
  }
  return Reader(*body).read();
}

}  // namespace tranche::cluster
