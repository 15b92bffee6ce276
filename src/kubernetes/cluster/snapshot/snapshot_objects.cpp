#include "cluster/snapshot/snapshot_objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "cluster/snapshot/writers.h"

namespace tranche::cluster {
namespace {

std::unexpected<Error> read_only(std::string_view what) {
  return fail(Code::kUnsupported, fmt::format("{}: a snapshot can only be read", what),
              "name a cluster instead of a snapshot");
}

Error as_it_was(const Gap& gap) {
  const auto what = gap.name.empty() ? gap.resource : fmt::format("{} {}", gap.resource, gap.name);
  return {gap.code, fmt::format("the snapshot has no {}: {}", what, gap.message)};
}

Object object_of(const Kind& kind, const json::Value& written) {
  const auto text = written.text();
  auto json = json::Value::copy(json::parse(text).value_or(json::View()));
  json["apiVersion"] = kind.api_version();
  json["kind"] = kind.kind;
  // The writers give every object a name, so this is one.
  return parse_object(json.text()).value_or(Object());
}

struct FieldSelector {
  std::string key;
  std::string value;
  bool equal = true;
};

// "metadata.name=x,spec.nodeName==y,status.phase!=z"
Result<std::vector<FieldSelector>> read_field_selectors(std::string_view text) {
  std::vector<FieldSelector> selectors;
  while (!text.empty()) {
    const auto one = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), one.size() + 1));
    const auto sign = one.find('=');
    if (sign == std::string_view::npos || sign == 0) {
      return fail(Code::kUnsupported, fmt::format("a snapshot is not searched by \"{}\"", one));
    }
    const bool equal = one[sign - 1] != '!';
    auto value = one.substr(sign + 1);
    if (value.starts_with('=')) value.remove_prefix(1);
    selectors.push_back(
        {std::string(one.substr(0, equal ? sign : sign - 1)), std::string(value), equal});
  }
  return selectors;
}

// The value that a selector compares; "" where there is none, as at the API server.
Result<std::string> selected_field(const Object& object, const std::string& key) {
  if (key == "metadata.name") return object.key.name;
  if (key == "metadata.namespace") return object.key.ns;
  if (key != "spec.nodeName" && key != "status.phase") {
    return fail(Code::kUnsupported, fmt::format("a snapshot is not searched by {}", key));
  }
  const auto dot = key.find('.');
  ASSIGN_OR_RETURN(const auto root, json::parse(object.json));
  const auto field = root.at({key.substr(0, dot), key.substr(dot + 1)});
  return field ? field->as_string().value_or("") : "";
}

Result<bool> is_selected(const Object& object, const std::string& ns,
                         const std::vector<FieldSelector>& selectors) {
  if (!ns.empty() && object.key.ns != ns) return false;
  for (const auto& selector : selectors) {
    ASSIGN_OR_RETURN(const auto value, selected_field(object, selector.key));
    if ((value == selector.value) != selector.equal) return false;
  }
  return true;
}

}  // namespace

template <class Range>
void SnapshotObjects::add(const Kind& kind, const Range& values) {
  auto& kept = objects_[kind.resource()];
  for (const auto& value : values) {
    auto object = object_of(kind, json_of(value));
    const auto key = object.key;
    kept.emplace(key, std::move(object));
  }
}

SnapshotObjects::SnapshotObjects(const Snapshot& snapshot) : gaps_(snapshot.gaps) {
  std::vector<Node> nodes;
  for (const auto& node : snapshot.nodes) nodes.push_back(node.node);
  add(kNode, nodes);
  add(kPod, snapshot.pods);
  add(kConfigMap, snapshot.config_maps);
  add(kClusterPolicy, snapshot.cluster_policies);
  add(kGpuTier, snapshot.tiers);
  add(kNamespace, snapshot.namespaces);
  add(kResourceQuota, snapshot.quotas);
  add(kPodDisruptionBudget, snapshot.budgets);
  add(kResourceSlice, snapshot.slices);
  add(kResourceClaim, snapshot.claims);
  add(kDeviceClass, snapshot.device_classes);
  add(kGpuNode, snapshot.gpu_nodes);
}

Result<const SnapshotObjects::ByKey*> SnapshotObjects::kept(const Kind& kind) const {
  const auto resource = kind.resource();
  const auto found = objects_.find(resource);
  if (found == objects_.end()) {
    return fail(Code::kUnsupported, fmt::format("a snapshot keeps no {}", resource),
                "name a cluster instead of a snapshot");
  }
  const auto gap = std::ranges::find_if(
      gaps_, [&](const Gap& one) { return one.resource == resource && one.name.empty(); });
  // A list that an early file has in another place is there in spite of the gap.
  if (gap != gaps_.end() && found->second.empty()) return std::unexpected(as_it_was(*gap));
  return &found->second;
}

// An object that could not be read is missing in a list that looks whole.
Result<void> SnapshotObjects::check_whole(const Kind& kind) const {
  const auto gap =
      std::ranges::find_if(gaps_, [&](const Gap& one) { return one.resource == kind.resource(); });
  if (gap == gaps_.end() || gap->name.empty()) return {};
  return std::unexpected(as_it_was(*gap));
}

Result<Object> SnapshotObjects::get(const Kind& kind, const ObjectKey& key, const Call& /*call*/) {
  ASSIGN_OR_RETURN(const auto* objects, kept(kind));
  if (const auto found = objects->find(key); found != objects->end()) return found->second;
  const auto gap = std::ranges::find_if(gaps_, [&](const Gap& one) {
    return one.resource == kind.resource() && one.name == key.to_string();
  });
  if (gap != gaps_.end()) return std::unexpected(as_it_was(*gap));
  return fail(Code::kNotFound,
              fmt::format("the snapshot has no {} {}", kind.kind, key.to_string()));
}

Result<ObjectList> SnapshotObjects::list(const Kind& kind, const ListOptions& options,
                                         const Call& /*call*/) {
  if (kind == kConfigMap || !options.label_selector.empty()) {
    return fail(Code::kUnsupported, kind == kConfigMap ? "a snapshot keeps no list of ConfigMaps"
                                                       : "a snapshot is not searched by labels");
  }
  ASSIGN_OR_RETURN(const auto* objects, kept(kind));
  TRY(check_whole(kind));
  ASSIGN_OR_RETURN(const auto selectors, read_field_selectors(options.field_selector));
  ObjectList list;
  for (const auto& [key, object] : *objects) {
    ASSIGN_OR_RETURN(const bool selected, is_selected(object, options.ns, selectors));
    if (selected) list.items.push_back(object);
  }
  return list;
}

Result<WatchEnd> SnapshotObjects::watch(const Kind&, const WatchOptions&, const WatchHandler&,
                                        std::stop_token) {
  return read_only("watch");
}

Result<Object> SnapshotObjects::create(const Kind&, const std::string&, std::string_view,
                                       const Call&) {
  return read_only("create");
}

Result<Object> SnapshotObjects::update(const Kind&, const ObjectKey&, std::string_view,
                                       const std::string&, const Call&) {
  return read_only("update");
}

Result<Object> SnapshotObjects::patch(const Kind&, const ObjectKey&, const Patch&, const Call&) {
  return read_only("patch");
}

Result<Object> SnapshotObjects::apply(const Kind&, const ObjectKey&, const Apply&, const Call&) {
  return read_only("apply");
}

Result<void> SnapshotObjects::remove(const Kind&, const ObjectKey&, const Preconditions&,
                                     const Call&) {
  return read_only("delete");
}

Result<void> SnapshotObjects::evict(const ObjectKey&, const std::string&, const Call&) {
  return read_only("evict");
}

}  // namespace tranche::cluster
