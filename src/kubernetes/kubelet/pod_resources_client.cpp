#include "kubelet/pod_resources_client.h"

#include <fmt/format.h>

#include "base/fs.h"
#include "kubelet/channel.h"
#include "kubelet/proto/podresources.grpc.pb.h"

namespace tranche::kubelet {

namespace {

// One call. `method`: of the stub.
template <class Request, class Answer>
Result<Answer> call(const std::filesystem::path& socket, std::chrono::milliseconds deadline,
                    grpc::Status (v1::PodResourcesLister::Stub::*method)(grpc::ClientContext*,
                                                                         const Request&, Answer*)) {
  const auto stub = v1::PodResourcesLister::NewStub(open_channel(socket));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + deadline);
  Answer answer;
  const auto status = ((*stub).*method)(&context, {}, &answer);
  if (status.ok()) return answer;
  return std::unexpected(
      error_of(status, fmt::format("asking pod-resources at {}", socket.string())));
}

}  // namespace

bool PodResourcesClient::is_there() const { return FsRoot().is_directory(socket_.parent_path()); }

Result<cluster::ListedHolders> PodResourcesClient::list() {
  ASSIGN_OR_RETURN(const auto answer,
                   call(socket_, deadline_, &v1::PodResourcesLister::Stub::List));
  cluster::ListedHolders listed;
  for (const auto& pod : answer.pod_resources()) {
    listed.pods.insert(pod.name());
    for (const auto& container : pod.containers()) {
      for (const auto& devices : container.devices()) {
        listed.devices.push_back({pod.namespace_(),
                                  pod.name(),
                                  container.name(),
                                  devices.resource_name(),
                                  {devices.device_ids().begin(), devices.device_ids().end()}});
      }
      for (const auto& claim : container.dynamic_resources()) {
        listed.claims.push_back({pod.namespace_(),
                                 pod.name(),
                                 container.name(),
                                 {claim.claim_namespace(), claim.claim_name()}});
      }
    }
  }
  return listed;
}

// Kubelet names a device once for each NUMA node.
Result<cluster::AllocatableDevices> PodResourcesClient::allocatable() {
  ASSIGN_OR_RETURN(const auto answer, call(socket_, deadline_,
                                           &v1::PodResourcesLister::Stub::GetAllocatableResources));
  cluster::AllocatableDevices devices;
  for (const auto& entry : answer.devices()) {
    devices[entry.resource_name()].insert(entry.device_ids().begin(), entry.device_ids().end());
  }
  return devices;
}

Result<std::vector<cluster::HeldDevices>> PodResourcesClient::remembered() {
  return read_checkpoint(checkpoint_);
}

}  // namespace tranche::kubelet
