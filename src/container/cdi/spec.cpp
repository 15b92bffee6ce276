#include "cdi/spec.h"

#include <algorithm>
#include <tuple>

#include "base/json_value.h"

namespace tranche::cdi {
namespace {

using Json = json::Value;

bool any_host_path(const ContainerEdits& edits) {
  return std::ranges::any_of(edits.device_nodes,
                             [](const DeviceNode& node) { return !node.host_path.empty(); });
}

bool starts_with_digit(const std::string& name) {
  return !name.empty() && name.front() >= '0' && name.front() <= '9';
}

// Sorts by depth first: "/dev/nvidia0" before "/dev/dri/card0".
auto place(const std::string& path, const std::string& host_path) {
  return std::tuple(std::ranges::count(path, '/'), path, host_path);
}

template <class T>
void drop_repeated(std::vector<T>& sorted) {
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
}

void put_in_order(ContainerEdits& edits) {
  std::ranges::sort(edits.device_nodes, {},
                    [](const DeviceNode& n) { return place(n.container_path, n.host_path); });
  std::ranges::sort(edits.mounts, {},
                    [](const Mount& m) { return place(m.container_path, m.host_path); });
  std::ranges::sort(edits.additional_gids);
  drop_repeated(edits.device_nodes);
  drop_repeated(edits.mounts);
  drop_repeated(edits.additional_gids);
}

Json encode(const DeviceNode& node) {
  Json json = {{"path", node.container_path}};
  if (!node.host_path.empty()) json["hostPath"] = node.host_path;
  if (!node.type.empty()) json["type"] = node.type;
  if (node.major.value_or(0) != 0) json["major"] = *node.major;
  if (node.minor.value_or(0) != 0) json["minor"] = *node.minor;
  if (node.file_mode.value_or(0) != 0) json["fileMode"] = *node.file_mode;
  if (!node.permissions.empty()) json["permissions"] = node.permissions;
  if (node.gid != 0) json["gid"] = node.gid;
  return json;
}

Json encode(const Hook& hook) {
  Json json = {{"hookName", hook.hook_name}, {"path", hook.path}};
  if (!hook.args.empty()) json["args"] = hook.args;
  if (!hook.env.empty()) json["env"] = hook.env;
  if (hook.timeout > 0) json["timeout"] = hook.timeout;
  return json;
}

Json encode(const Mount& mount) {
  Json json = {{"hostPath", mount.host_path}, {"containerPath", mount.container_path}};
  auto options = mount.options;
  if (mount.read_only) options.insert(options.begin(), "ro");
  if (!options.empty()) json["options"] = options;
  return json;
}

Json encode(const Device& device);

template <class T>
Json list_of(const std::vector<T>& values) {
  auto list = Json::array();
  for (const auto& value : values) list.push_back(encode(value));
  return list;
}

Json encode(const ContainerEdits& edits) {
  auto json = Json::object();
  if (!edits.env.empty()) json["env"] = edits.env;
  if (!edits.device_nodes.empty()) json["deviceNodes"] = list_of(edits.device_nodes);
  if (!edits.hooks.empty()) json["hooks"] = list_of(edits.hooks);
  if (!edits.mounts.empty()) json["mounts"] = list_of(edits.mounts);
  if (!edits.additional_gids.empty()) json["additionalGids"] = edits.additional_gids;
  return json;
}

Json encode(const Device& device) {
  return {{"name", device.name}, {"containerEdits", encode(device.edits)}};
}

}  // namespace

std::string minimum_version(const Spec& spec) {
  bool v050 = any_host_path(spec.edits);
  bool v070 = !spec.edits.additional_gids.empty();
  for (const auto& device : spec.devices) {
    v050 = v050 || any_host_path(device.edits) || starts_with_digit(device.name);
    v070 = v070 || !device.edits.additional_gids.empty();
  }
  if (v070) return "0.7.0";
  return v050 ? "0.5.0" : "0.3.0";
}

void put_in_order(Spec& spec) {
  put_in_order(spec.edits);
  for (auto& device : spec.devices) put_in_order(device.edits);
  std::ranges::sort(spec.devices, {}, &Device::name);
}

std::string to_json(const Spec& spec) {
  const Json json = {{"cdiVersion", minimum_version(spec)},
                     {"kind", spec.kind},
                     {"devices", list_of(spec.devices)},
                     {"containerEdits", encode(spec.edits)}};
  return json.text();
}

}  // namespace tranche::cdi
