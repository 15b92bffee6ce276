#include "kubelet/pod_resources_proxy.h"

#include <chrono>
#include <utility>

#include "kubelet/channel.h"
#include "kubelet/proto/podresources.grpc.pb.h"
#include "kubelet/socket_server.h"

namespace tranche::kubelet {
namespace {

constexpr std::chrono::seconds kDeadline{5};
using Devices = google::protobuf::RepeatedPtrField<v1::ContainerDevices>;

// The same devices, each GPU once under its resource; others as they are.
class Renamed {
 public:
  void add(const v1::ContainerDevices& entry) {
    v1::ContainerDevices others = entry;
    others.clear_device_ids();
    for (const auto& id : entry.device_ids()) {
      if (const auto gpu = gpu_of_id(id); gpu.empty()) {
        others.add_device_ids(id);
      } else {
        add_gpu(usual_resource(entry.resource_name()), gpu, &entry);
      }
    }
    if (others.device_ids_size() > 0 || entry.device_ids_size() == 0) *made_.Add() = others;
  }
  // `like`: has its place; null: unknown.
  void add_gpu(std::string_view resource, std::string_view gpu, const v1::ContainerDevices* like) {
    if (!seen_.emplace(resource, gpu).second) return;
    auto& entry = *made_.Add();
    entry.set_resource_name(std::string(resource));
    entry.add_device_ids(std::string(gpu));
    if (like != nullptr && like->has_topology()) *entry.mutable_topology() = like->topology();
  }
  Devices take() { return std::move(made_); }

 private:
  Devices made_;
  std::set<std::pair<std::string, std::string>> seen_;  // resource, GPU
};

void rename(v1::ContainerResources& container, const GpuNameSources& sources) {
  Renamed renamed;
  for (const auto& entry : container.devices()) renamed.add(entry);
  for (const auto& claim : container.dynamic_resources()) {
    const cluster::ObjectKey key{claim.claim_namespace(), claim.claim_name()};
    for (const auto& one : claim.claim_resources()) {
      const AllocatedDevice device{one.driver_name(), one.pool_name(), one.device_name(),
                                   one.share_id()};
      for (const auto& uuid : sources.claimed(key, device)) {
        renamed.add_gpu(kGpuResource, uuid, nullptr);
      }
    }
  }
  *container.mutable_devices() = renamed.take();
}

void rename(v1::PodResources& pod, const GpuNameSources& sources) {
  for (auto& container : *pod.mutable_containers()) rename(container, sources);
}

class Service final : public v1::PodResourcesLister::Service {
 public:
  Service(std::filesystem::path kubelets, GpuNameSources sources)
      : kubelets_(std::move(kubelets)), sources_(std::move(sources)) {}

  grpc::Status List(grpc::ServerContext* /*context*/, const v1::ListPodResourcesRequest* request,
                    v1::ListPodResourcesResponse* answer) override {
    v1::ListPodResourcesResponse all;
    const auto status = ask(&v1::PodResourcesLister::Stub::List, *request, all);
    if (!status.ok()) return status;
    for (auto& pod : *all.mutable_pod_resources()) {
      if (sources_.has_ended(pod.namespace_(), pod.name())) continue;
      rename(pod, sources_);
      *answer->add_pod_resources() = std::move(pod);
    }
    return grpc::Status::OK;
  }

  grpc::Status Get(grpc::ServerContext* /*context*/, const v1::GetPodResourcesRequest* request,
                   v1::GetPodResourcesResponse* answer) override {
    const auto status = ask(&v1::PodResourcesLister::Stub::Get, *request, *answer);
    if (status.ok()) rename(*answer->mutable_pod_resources(), sources_);
    return status;
  }

  grpc::Status GetAllocatableResources(grpc::ServerContext* /*context*/,
                                       const v1::AllocatableResourcesRequest* request,
                                       v1::AllocatableResourcesResponse* answer) override {
    const auto status =
        ask(&v1::PodResourcesLister::Stub::GetAllocatableResources, *request, *answer);
    if (!status.ok()) return status;
    Renamed renamed;
    for (const auto& entry : answer->devices()) renamed.add(entry);
    *answer->mutable_devices() = renamed.take();
    return grpc::Status::OK;
  }

 private:
  template <class Request, class Answer>
  grpc::Status ask(grpc::Status (v1::PodResourcesLister::Stub::*method)(grpc::ClientContext*,
                                                                        const Request&, Answer*),
                   const Request& request, Answer& answer) const {
    const auto stub = v1::PodResourcesLister::NewStub(open_channel(kubelets_));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kDeadline);
    return ((*stub).*method)(&context, request, &answer);
  }

  const std::filesystem::path kubelets_;
  const GpuNameSources sources_;
};

class Proxy final : public PodResourcesProxy {
 public:
  Proxy(std::filesystem::path kubelets, GpuNameSources sources)
      : service_(std::move(kubelets), std::move(sources)) {}

  Result<void> serve(const std::filesystem::path& socket, const Log& log) {
    ASSIGN_OR_RETURN(server_,
                     SocketServer::start({.socket = socket, .kind = "server of pod-resources"},
                                         {&service_}, {}, log));
    return {};
  }
  bool intact() const override { return server_->intact(); }

 private:
  Service service_;
  std::unique_ptr<SocketServer> server_;  // last: its threads use the service
};

}  // namespace

Result<std::unique_ptr<PodResourcesProxy>> PodResourcesProxy::start(Options options,
                                                                    GpuNameSources sources,
                                                                    const Log& log) {
  auto proxy = std::make_unique<Proxy>(std::move(options.kubelets), std::move(sources));
  TRY(proxy->serve(options.socket, log));
  return proxy;
}

}  // namespace tranche::kubelet
