#include "kubelet/pod_resources_client.h"

#include <fmt/format.h>

#include "kubelet/channel.h"
#include "kubelet/proto/podresources.grpc.pb.h"

namespace tranche::kubelet {

Result<std::vector<cluster::HeldDevices>> PodResourcesClient::list() {
  const auto stub = v1::PodResourcesLister::NewStub(open_channel(socket_));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + deadline_);
  v1::ListPodResourcesResponse answer;
  const auto status = stub->List(&context, {}, &answer);
  if (!status.ok()) {
    return std::unexpected(
        error_of(status, fmt::format("asking pod-resources at {}", socket_.string())));
  }
  std::vector<cluster::HeldDevices> held;
  for (const auto& pod : answer.pod_resources()) {
    for (const auto& container : pod.containers()) {
      for (const auto& devices : container.devices()) {
        held.push_back({pod.namespace_(),
                        pod.name(),
                        container.name(),
                        devices.resource_name(),
                        {devices.device_ids().begin(), devices.device_ids().end()}});
      }
    }
  }
  return held;
}

Result<std::vector<cluster::HeldDevices>> PodResourcesClient::remembered() {
  return read_checkpoint(checkpoint_);
}

}  // namespace tranche::kubelet
