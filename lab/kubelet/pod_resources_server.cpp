#include "lab/kubelet/pod_resources_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kubelet/proto/podresources.grpc.pb.h"
#include "lab/kubelet/unix_server.h"

namespace tranche::lab {

namespace {

using Entries = google::protobuf::RepeatedPtrField<v1::ContainerDevices>;

void add_device(const std::string& resource, const Device& device, Entries& out) {
  const auto add = [&]() -> v1::ContainerDevices& {
    v1::ContainerDevices& entry = *out.Add();
    entry.set_resource_name(resource);
    entry.add_device_ids(device.id);
    return entry;
  };
  if (device.numa_nodes.empty()) add();
  for (const std::int64_t node : device.numa_nodes)
    add().mutable_topology()->add_nodes()->set_id(node);
}

// The device as the plugin listed it, or only its id when the plugin is away.
Device find_device(const PodResourcesServer::Snapshot& snapshot, const std::string& resource,
                   const std::string& id) {
  if (const auto listed = snapshot.devices.find(resource); listed != snapshot.devices.end())
    for (const Device& device : listed->second)
      if (device.id == id) return device;
  return {.id = id};
}

void fill_pod(const PodResourcesServer::Snapshot& snapshot, const Ledger::Entry& entry,
              v1::PodResources& out) {
  out.set_name(entry.pod.name);
  out.set_namespace_(entry.pod.pod_namespace);
  for (const Container& container : entry.pod.containers) {
    v1::ContainerResources& resources = *out.add_containers();
    resources.set_name(container.name);
    const auto held = entry.containers.find(container.name);
    if (held == entry.containers.end()) continue;
    for (const auto& [resource, holding] : held->second)
      for (const std::string& id : holding.ids)
        add_device(resource, find_device(snapshot, resource, id), *resources.mutable_devices());
  }
}

}  // namespace

struct PodResourcesServer::Impl final : v1::PodResourcesLister::Service {
  explicit Impl(Source s) : source(std::move(s)) {}

  grpc::Status List(grpc::ServerContext* /*context*/,
                    const v1::ListPodResourcesRequest* /*request*/,
                    v1::ListPodResourcesResponse* response) override {
    const Snapshot snapshot = source();
    for (const Ledger::Entry& entry : snapshot.pods)
      fill_pod(snapshot, entry, *response->add_pod_resources());
    return grpc::Status::OK;
  }

  grpc::Status GetAllocatableResources(grpc::ServerContext* /*context*/,
                                       const v1::AllocatableResourcesRequest* /*request*/,
                                       v1::AllocatableResourcesResponse* response) override {
    for (const auto& [resource, devices] : source().devices)
      for (const Device& device : devices)
        if (device.healthy) add_device(resource, device, *response->mutable_devices());
    return grpc::Status::OK;
  }

  grpc::Status Get(grpc::ServerContext* /*context*/, const v1::GetPodResourcesRequest* request,
                   v1::GetPodResourcesResponse* response) override {
    const Snapshot snapshot = source();
    const auto found = std::ranges::find_if(snapshot.pods, [&](const Ledger::Entry& entry) {
      return entry.pod.name == request->pod_name() &&
             entry.pod.pod_namespace == request->pod_namespace();
    });
    if (found == snapshot.pods.end())
      return {grpc::StatusCode::UNKNOWN,
              fmt::format("pod {} in namespace {} not found", request->pod_name(),
                          request->pod_namespace())};
    fill_pod(snapshot, *found, *response->mutable_pod_resources());
    return grpc::Status::OK;
  }

  Source source;
  std::unique_ptr<grpc::Server> server;
};

PodResourcesServer::PodResourcesServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

PodResourcesServer::~PodResourcesServer() { shut_down(*impl_->server); }

Result<std::unique_ptr<PodResourcesServer>> PodResourcesServer::serve(
    const std::filesystem::path& socket, Source source) {
  auto impl = std::make_unique<Impl>(std::move(source));
  ASSIGN_OR_RETURN(impl->server, serve_unix(socket, *impl));
  return std::unique_ptr<PodResourcesServer>(new PodResourcesServer(std::move(impl)));
}

}  // namespace tranche::lab
