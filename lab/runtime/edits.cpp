#include "lab/runtime/edits.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

namespace tranche::lab {
namespace {

Json& list_in(Json& object, const char* name) {
  Json& list = object[name];
  if (!list.is_array()) list = Json::array();
  return list;
}

bool has(const Json& list, const char* key, const std::string& value) {
  return std::ranges::any_of(list, [&](const Json& one) { return one.value(key, "") == value; });
}

void add_device(const DeviceNode& node, Json& spec) {
  Json& devices = list_in(spec["linux"], "devices");
  if (!has(devices, "path", node.path)) {
    devices.push_back({{"path", node.path},
                       {"type", "c"},
                       {"major", node.major},
                       {"minor", node.minor},
                       {"fileMode", node.mode},
                       {"uid", 0},
                       {"gid", 0}});
  }
  list_in(spec["linux"]["resources"], "devices")
      .push_back({{"allow", true},
                  {"type", "c"},
                  {"major", node.major},
                  {"minor", node.minor},
                  {"access", "rwm"}});
}

void add_mount(const Mount& mount, Json& spec) {
  Json& mounts = list_in(spec, "mounts");
  if (has(mounts, "destination", mount.destination)) return;
  mounts.push_back(
      {{"destination", mount.destination},
       {"type", "bind"},
       {"source", mount.source},
       {"options", {mount.read_only ? "ro" : "rw", "nosuid", "nodev", "rbind", "rprivate"}}});
}

void set_variable(const std::string& setting, Json& spec) {
  const std::string name = setting.substr(0, setting.find('=') + 1);
  Json& env = list_in(spec["process"], "env");
  for (Json& entry : env) {
    if (!entry.is_string() || !entry.get_ref<const std::string&>().starts_with(name)) continue;
    entry = setting;
    return;
  }
  env.push_back(setting);
}

}  // namespace

void apply(const Edits& edits, Json& spec) {
  for (const auto& node : edits.devices) add_device(node, spec);
  for (const auto& mount : edits.mounts) add_mount(mount, spec);
  for (const auto& setting : edits.env) set_variable(setting, spec);
  for (const auto& hook : edits.create_container) {
    list_in(spec["hooks"], "createContainer").push_back({{"path", hook.path}, {"args", hook.args}});
  }
}

}  // namespace tranche::lab
