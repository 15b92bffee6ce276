#include "config/file/file_sharing.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/flags/values.h"
#include "config/names.h"

namespace tranche::config {
namespace {

// A null is an empty name, and no resource has that: as in NVIDIA's program.
std::optional<ResourceName> read_name(const FileNode& node) {
  const auto text = node.is_null() ? std::string() : read_string(node);
  if (!text) return std::nullopt;
  auto name = parse_resource_name(*text);
  if (name) return *std::move(name);
  node.error(name.error().what, name.error().hint);
  return std::nullopt;
}

std::optional<FilePattern> read_pattern(const FileNode& entry) {
  const auto children = entry.children(FileNode::Keys::kExact);
  FilePattern pattern{.line = entry.line()};
  bool complete = entry.node().kind == yaml::Kind::kMap;
  for (const auto* field : {"pattern", "name"}) {
    const auto* child = find_child(children, field);
    if (child != nullptr) continue;
    if (entry.node().kind == yaml::Kind::kMap || entry.is_null()) {
      entry.error(fmt::format("resources must have a '{}' field set", field),
                  fmt::format("add '{}:'", field));
    }
    complete = false;
  }
  if (!complete) return std::nullopt;
  const auto* written = find_child(children, "pattern");
  const auto text = written->is_null() ? std::string() : read_string(*written);
  const auto name = read_name(*find_child(children, "name"));
  if (!text || !name) return std::nullopt;
  pattern.value = {*text, *name};
  return pattern;
}

Devices read_device_list(const FileNode& node) {
  DeviceList list;
  const auto items = node.items().value_or(std::vector<FileNode>{});
  for (const auto& item : items) {
    const auto& scalar = item.node();
    // A null is the number 0: as in NVIDIA's program.
    const auto number = item.is_null() ? std::optional<std::int64_t>(0) : yaml::as_int(scalar);
    if (number && *number >= 0) {
      list.items.push_back(fmt::format("{}", *number));
    } else if (scalar.kind == yaml::Kind::kScalar && is_device_item(scalar.scalar)) {
      list.items.push_back(scalar.scalar);
    } else {
      item.error("unsupported type for device in devices list",
                 "write a GPU index (0), \"GPU:MIG slot\" (\"0:1\"), or a uuid (GPU-..., MIG-...)");
    }
  }
  return list;
}

// In the words of NVIDIA's programs, to which null is an empty string.
std::string wrong_devices(const yaml::Node& value) {
  const auto text = value.scalar.substr(0, 80);
  if (value.kind == yaml::Kind::kNull || yaml::is_text(value)) {
    return fmt::format("devices set as '{}' but the only valid string input is 'all'", text);
  }
  if (const auto count = yaml::as_int(value); count && *count <= 0) {
    return fmt::format("devices set as '{}' but a count of devices must be > 0", text);
  }
  return fmt::format("unrecognized type for devices spec: {}",
                     value.kind == yaml::Kind::kScalar ? text : yaml::describe(value.kind));
}

Devices read_devices(const FileNode& node) {
  const auto& value = node.node();
  if (value.kind == yaml::Kind::kScalar && value.scalar == "all") return AllDevices{};
  if (value.kind == yaml::Kind::kSequence) return read_device_list(node);
  const auto count = yaml::as_int(value);
  if (count && *count > 0) {
    return DeviceCount{static_cast<int>(std::min<std::int64_t>(*count, INT32_MAX))};
  }
  node.error(wrong_devices(value), "write all, a number, or a list such as [0, \"0:1\"]");
  return AllDevices{};
}

std::optional<std::int64_t> read_replicas(const FileNode& node) {
  static constexpr const char* kRemedy = "write how many Pods may share one device (1: not shared)";
  if (node.is_null()) {
    node.error("number of replicas must be >= 2, found null", kRemedy);
    return std::nullopt;
  }
  const auto value = value_from_node(FlagType::kInt, node.node());
  if (!value) {
    node.error(value.error().what, value.error().hint);
    return std::nullopt;
  }
  const auto count = std::get<std::int64_t>(*value);
  if (count < 1) {
    node.error(fmt::format("number of replicas must be >= 2, found {}", count), kRemedy);
    return std::nullopt;
  }
  if (count > kMaxReplicas) {
    node.error(fmt::format("{} replicas of one device are more than kubelet can be told", count),
               fmt::format("write at most {}", kMaxReplicas));
    return std::nullopt;
  }
  return count;
}

std::optional<FileResource> read_resource(const FileNode& entry) {
  const auto children = entry.children(FileNode::Keys::kExact);
  if (entry.node().kind != yaml::Kind::kMap && !entry.is_null()) return std::nullopt;
  FileResource resource{.line = entry.line()};
  const auto* name = find_child(children, "name");
  const auto* replicas = find_child(children, "replicas");
  const auto* rename = find_child(children, "rename");
  const auto* devices = find_child(children, "devices");

  std::optional<ResourceName> read;
  if (name == nullptr) {
    entry.error("no resource name specified", "add 'name: nvidia.com/gpu'");
  } else {
    read = read_name(*name);
  }
  std::optional<std::int64_t> count;
  if (replicas == nullptr) {
    entry.error("no replicas specified", "add 'replicas:' with the number of Pods per device");
  } else {
    resource.replicas_line = replicas->line();
    count = read_replicas(*replicas);
  }
  if (rename != nullptr) {
    resource.rename_line = rename->line();
    resource.rename = read_name(*rename);
  }
  if (devices != nullptr) {
    resource.devices_line = devices->line();
    resource.devices = read_devices(*devices);
  }
  if (!read || !count) return std::nullopt;
  resource.name = *read;
  resource.replicas = *count;
  return resource;
}

}  // namespace

std::vector<FilePattern> read_patterns(const FileNode& list) {
  std::vector<FilePattern> patterns;
  if (list.is_null()) return patterns;
  const auto items = list.items();
  if (!items) return patterns;
  for (const auto& item : *items) {
    if (auto pattern = read_pattern(item)) patterns.push_back(*std::move(pattern));
  }
  return patterns;
}

FileSharing read_replicated(const FileNode& node) {
  FileSharing sharing{.line = node.line()};
  const auto children = node.children(FileNode::Keys::kExact);
  if (node.node().kind != yaml::Kind::kMap && !node.is_null()) return sharing;
  if (const auto* child = find_child(children, "renameByDefault")) {
    sharing.rename_by_default = read_bool(*child).value_or(false);
  }
  if (const auto* child = find_child(children, "failRequestsGreaterThanOne")) {
    sharing.fail_requests_greater_than_one = read_bool(*child);
  }
  const auto* resources = find_child(children, "resources");
  const bool none =
      resources == nullptr || resources->is_null() ||
      (resources->node().kind == yaml::Kind::kSequence && resources->node().items.empty());
  if (none) {
    (resources == nullptr ? node : *resources)
        .error("no resources specified", "list at least one resource, or remove the key");
    return sharing;
  }
  const auto items = resources->items();
  if (!items) return sharing;
  for (const auto& item : *items) {
    if (auto resource = read_resource(item)) sharing.resources.push_back(*std::move(resource));
  }
  return sharing;
}

}  // namespace tranche::config
