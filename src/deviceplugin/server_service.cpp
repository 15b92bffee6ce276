#include <grpcpp/grpcpp.h>

#include "deviceplugin/server.h"
#include "deviceplugin/wire.h"
#include "kubelet/proto/deviceplugin.grpc.pb.h"
#include "kubelet/socket_server.h"

namespace tranche::deviceplugin {
namespace {

// How often an idle stream checks that its kubelet is still there. Changes are sent at once.
constexpr std::chrono::seconds kStreamCheck{1};
// NVIDIA's plugin returns every error as Unknown, and kubelet prints the text.
grpc::Status unknown(const Error& error) { return {grpc::StatusCode::UNKNOWN, error.message()}; }

class PluginService final : public v1beta1::DevicePlugin::Service {
 public:
  PluginService(Resource& resource, std::stop_token stop)
      : resource_(resource), stop_(std::move(stop)) {}

  grpc::Status GetDevicePluginOptions(grpc::ServerContext*, const v1beta1::Empty*,
                                      v1beta1::DevicePluginOptions* answer) override {
    answer->set_get_preferred_allocation_available(true);
    return grpc::Status::OK;
  }

  grpc::Status ListAndWatch(grpc::ServerContext* context, const v1beta1::Empty*,
                            grpc::ServerWriter<v1beta1::ListAndWatchResponse>* stream) override {
    std::uint64_t sent = 0;
    auto listing = resource_.listing();
    while (!context->IsCancelled() && !stop_.stop_requested()) {
      if (listing.version != sent) {
        if (!stream->Write(to_wire(*listing.offer))) break;
        sent = listing.version;
      }
      listing = resource_.wait_for_change(sent, kStreamCheck, stop_);
    }
    return grpc::Status::OK;
  }

  grpc::Status Allocate(grpc::ServerContext*, const v1beta1::AllocateRequest* request,
                        v1beta1::AllocateResponse* answer) override {
    for (const auto& container : request->container_requests()) {
      const std::vector<std::string> ids(container.devices_ids().begin(),
                                         container.devices_ids().end());
      const auto grant = resource_.allocate(ids);
      if (!grant) return unknown(grant.error());
      to_wire(*grant, *answer->add_container_responses());
    }
    return grpc::Status::OK;
  }

  grpc::Status GetPreferredAllocation(grpc::ServerContext*,
                                      const v1beta1::PreferredAllocationRequest* request,
                                      v1beta1::PreferredAllocationResponse* answer) override {
    for (const auto& container : request->container_requests()) {
      const auto preferred = resource_.preferred(from_wire(container));
      if (!preferred) return unknown(preferred.error());
      auto& ids = *answer->add_container_responses()->mutable_deviceids();
      ids.Assign(preferred->ids.begin(), preferred->ids.end());
    }
    return grpc::Status::OK;
  }

  grpc::Status PreStartContainer(grpc::ServerContext*, const v1beta1::PreStartContainerRequest*,
                                 v1beta1::PreStartContainerResponse*) override {
    return grpc::Status::OK;
  }

 private:
  Resource& resource_;
  std::stop_token stop_;
};

class PluginServer final : public Server {
 public:
  explicit PluginServer(Resource& resource) : service_(resource, stop_.get_token()) {}
  // Ends the streams before the server is destroyed.
  ~PluginServer() override { stop_.request_stop(); }

  Result<void> serve(const Options& options, const Log& log) {
    ASSIGN_OR_RETURN(server_, kubelet::SocketServer::start({.socket = options.socket,
                                                            .take_over = options.take_over,
                                                            .kind = "device plugin"},
                                                           service_, log));
    return {};
  }

  bool socket_intact() const override { return server_->intact(); }

 private:
  std::stop_source stop_;
  PluginService service_;
  std::unique_ptr<kubelet::SocketServer> server_;
};

}  // namespace

Result<std::unique_ptr<Server>> Server::start(const Options& options, Resource& resource,
                                              const Log& log) {
  auto server = std::make_unique<PluginServer>(resource);
  TRY(server->serve(options, log));
  return server;
}

}  // namespace tranche::deviceplugin
