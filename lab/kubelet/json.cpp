#include "lab/kubelet/json.h"

namespace tranche::lab {

using nlohmann::json;

namespace {

json containers_to_json(const std::vector<Container>& containers) {
  json out = json::array();
  for (const Container& container : containers)
    out.push_back({{"name", container.name}, {"limits", container.limits}});
  return out;
}

std::vector<Container> containers_from_json(const json& list) {
  std::vector<Container> out;
  for (const json& item : list)
    out.push_back(
        {.name = item.at("name"), .limits = item.value("limits", std::map<std::string, int>{})});
  return out;
}

}  // namespace

json to_json(const Answer& answer) {
  json mounts = json::array();
  for (const Mount& mount : answer.mounts)
    mounts.push_back({{"container_path", mount.container_path},
                      {"host_path", mount.host_path},
                      {"read_only", mount.read_only}});
  json devices = json::array();
  for (const DeviceNode& node : answer.devices)
    devices.push_back({{"container_path", node.container_path},
                       {"host_path", node.host_path},
                       {"permissions", node.permissions}});
  return {{"envs", answer.envs},
          {"mounts", std::move(mounts)},
          {"devices", std::move(devices)},
          {"annotations", answer.annotations},
          {"cdi_devices", answer.cdi_devices}};
}

Answer answer_from_json(const json& value) {
  Answer answer{.envs = value.at("envs"),
                .annotations = value.at("annotations"),
                .cdi_devices = value.at("cdi_devices")};
  for (const json& mount : value.at("mounts"))
    answer.mounts.push_back({.container_path = mount.at("container_path"),
                             .host_path = mount.at("host_path"),
                             .read_only = mount.at("read_only")});
  for (const json& node : value.at("devices"))
    answer.devices.push_back({.container_path = node.at("container_path"),
                              .host_path = node.at("host_path"),
                              .permissions = node.at("permissions")});
  return answer;
}

json to_json(const ContainerHoldings& holdings) {
  json out = json::object();
  for (const auto& [resource, holding] : holdings)
    out[resource] = {{"ids", holding.ids}, {"answer", to_json(holding.answer)}};
  return out;
}

json to_json(const Pod& pod) {
  return {{"pod", pod.name},
          {"namespace", pod.pod_namespace},
          {"uid", pod.uid},
          {"containers", containers_to_json(pod.containers)},
          {"init_containers", containers_to_json(pod.init_containers)}};
}

Pod pod_from_json(const json& value) {
  return {.name = value.at("pod"),
          .containers = containers_from_json(value.at("containers")),
          .init_containers = containers_from_json(value.value("init_containers", json::array())),
          .pod_namespace = value.value("namespace", "default"),
          .uid = value.value("uid", "")};
}

json to_json(const Device& device) {
  return {{"id", device.id}, {"healthy", device.healthy}, {"numa_nodes", device.numa_nodes}};
}

}  // namespace tranche::lab
