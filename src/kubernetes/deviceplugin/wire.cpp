#include "deviceplugin/wire.h"

namespace tranche::deviceplugin {

v1beta1::ListAndWatchResponse to_wire(const offer::ResourceOffer& offer) {
  v1beta1::ListAndWatchResponse response;
  for (const auto& tranche : offer.tranches) {
    const auto& device = offer.devices[tranche.device];
    auto& out = *response.add_devices();
    out.set_id(tranche.id);
    out.set_health(offer::is_healthy(offer, tranche) ? "Healthy" : "Unhealthy");
    if (device.numa_node) out.mutable_topology()->add_nodes()->set_id(*device.numa_node);
  }
  return response;
}

void to_wire(const offer::Grant& grant, v1beta1::ContainerAllocateResponse& answer) {
  for (const auto& [name, value] : grant.envs) (*answer.mutable_envs())[name] = value;
  for (const auto& mount : grant.mounts) {
    auto& out = *answer.add_mounts();
    out.set_container_path(mount.container_path);
    out.set_host_path(mount.host_path);
    out.set_read_only(mount.read_only);
  }
  for (const auto& node : grant.devices) {
    auto& out = *answer.add_devices();
    out.set_container_path(node.container_path);
    out.set_host_path(node.host_path);
    out.set_permissions(node.permissions);
  }
  for (const auto& [key, value] : grant.annotations) (*answer.mutable_annotations())[key] = value;
  for (const auto& name : grant.cdi_devices) answer.add_cdi_devices()->set_name(name);
}

offer::PreferredRequest from_wire(const v1beta1::ContainerPreferredAllocationRequest& request) {
  return {{request.available_deviceids().begin(), request.available_deviceids().end()},
          {request.must_include_deviceids().begin(), request.must_include_deviceids().end()},
          request.allocation_size()};
}

}  // namespace tranche::deviceplugin
