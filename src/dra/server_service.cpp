#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "cdi/claim_spec.h"
#include "dra/server.h"
#include "kubelet/proto/dra_v1.grpc.pb.h"
#include "kubelet/proto/dra_v1beta1.grpc.pb.h"
#include "kubelet/proto/pluginregistration.grpc.pb.h"
#include "kubelet/server_call.h"
#include "kubelet/socket_server.h"

namespace tranche::dra {
namespace {

namespace v1 = k8s::io::kubelet::pkg::apis::dra::v1;
namespace v1beta1 = k8s::io::kubelet::pkg::apis::dra::v1beta1;

void set_share(v1::Device& wire, const std::string& share_id) {
  if (!share_id.empty()) wire.set_share_id(share_id);
}
void set_share(v1beta1::Device&, const std::string&) {}  // that version has no shares

template <class Device>
void to_wire(const PreparedClaim& claim, const PreparedDevice& device, Device& wire) {
  wire.add_request_names(device.request);
  wire.set_pool_name(device.pool);
  wire.set_device_name(device.device);
  wire.add_cdi_device_ids(fmt::format("{}={}", cdi::kClaimKind, cdi_device_name(claim, device)));
  set_share(wire, device.share_id);
}

ClaimName name_of(const auto& wire) {
  return {.ns = wire.namespace_(), .name = wire.name(), .uid = wire.uid()};
}

template <class Request, class Answer>
grpc::Status prepare(Driver& driver, const Request& request, Answer& answer) {
  for (const auto& claim : request.claims()) {
    auto& one = (*answer.mutable_claims())[claim.uid()];
    const auto prepared = driver.prepare(name_of(claim));
    if (!prepared) {
      one.set_error(prepared.error().message());
      continue;
    }
    for (const auto& device : prepared->devices) to_wire(*prepared, device, *one.add_devices());
  }
  return grpc::Status::OK;
}

template <class Request, class Answer>
grpc::Status unprepare(Driver& driver, const Request& request, Answer& answer) {
  for (const auto& claim : request.claims()) {
    auto& one = (*answer.mutable_claims())[claim.uid()];
    const auto done = driver.unprepare(name_of(claim));
    if (!done) one.set_error(done.error().message());
  }
  return grpc::Status::OK;
}

// The methods of one version of the interface.
template <class Service, class PrepareRequest, class PrepareAnswer, class UnprepareRequest,
          class UnprepareAnswer>
class Methods {
 public:
  explicit Methods(Driver& driver) : driver_(driver) {}

  grpc::Service* service() { return &service_; }
  void ask(grpc::ServerCompletionQueue& queue) {
    kubelet::UnaryCall<PrepareRequest, PrepareAnswer>::ask(prepare_, queue);
    kubelet::UnaryCall<UnprepareRequest, UnprepareAnswer>::ask(unprepare_, queue);
  }

 private:
  Driver& driver_;
  Service service_;
  const kubelet::Method<PrepareRequest, PrepareAnswer> prepare_{
      [this](auto* context, auto* request, auto* writer, auto* queue, void* tag) {
        service_.RequestNodePrepareResources(context, request, writer, queue, queue, tag);
      },
      [this](const auto& request, auto& answer) { return prepare(driver_, request, answer); }};
  const kubelet::Method<UnprepareRequest, UnprepareAnswer> unprepare_{
      [this](auto* context, auto* request, auto* writer, auto* queue, void* tag) {
        service_.RequestNodeUnprepareResources(context, request, writer, queue, queue, tag);
      },
      [this](const auto& request, auto& answer) { return unprepare(driver_, request, answer); }};
};

using MethodsV1 = Methods<v1::DRAPlugin::AsyncService, v1::NodePrepareResourcesRequest,
                          v1::NodePrepareResourcesResponse, v1::NodeUnprepareResourcesRequest,
                          v1::NodeUnprepareResourcesResponse>;
using MethodsV1beta1 =
    Methods<v1beta1::DRAPlugin::AsyncService, v1beta1::NodePrepareResourcesRequest,
            v1beta1::NodePrepareResourcesResponse, v1beta1::NodeUnprepareResourcesRequest,
            v1beta1::NodeUnprepareResourcesResponse>;

// Tells kubelet who serves what and where.
class RegistrationMethods {
 public:
  RegistrationMethods(const Server::Options& options, Server::Registered registered)
      : options_(options), registered_(std::move(registered)) {}

  grpc::Service* service() { return &service_; }
  void ask(grpc::ServerCompletionQueue& queue) {
    kubelet::UnaryCall<pluginregistration::InfoRequest, pluginregistration::PluginInfo>::ask(info_,
                                                                                             queue);
    kubelet::UnaryCall<pluginregistration::RegistrationStatus,
                       pluginregistration::RegistrationStatusResponse>::ask(status_, queue);
  }

 private:
  grpc::Status inform(pluginregistration::PluginInfo& info) const {
    info.set_type("DRAPlugin");
    info.set_name(options_.driver);
    info.set_endpoint(options_.socket.string());
    // Kubelet takes the first that it knows.
    info.add_supported_versions("v1.DRAPlugin");
    info.add_supported_versions("v1beta1.DRAPlugin");
    return grpc::Status::OK;
  }
  grpc::Status take(const pluginregistration::RegistrationStatus& status) const {
    if (!registered_) return grpc::Status::OK;
    registered_(status.plugin_registered() ? Result<void>()
                                           : fail(Code::kFailedPrecondition,
                                                  fmt::format("kubelet refuses driver {}: {}",
                                                              options_.driver, status.error())));
    return grpc::Status::OK;
  }

  const Server::Options& options_;
  const Server::Registered registered_;
  pluginregistration::Registration::AsyncService service_;
  const kubelet::Method<pluginregistration::InfoRequest, pluginregistration::PluginInfo> info_{
      [this](auto* context, auto* request, auto* writer, auto* queue, void* tag) {
        service_.RequestGetInfo(context, request, writer, queue, queue, tag);
      },
      [this](const auto&, auto& answer) { return inform(answer); }};
  const kubelet::Method<pluginregistration::RegistrationStatus,
                        pluginregistration::RegistrationStatusResponse>
      status_{[this](auto* context, auto* request, auto* writer, auto* queue, void* tag) {
                service_.RequestNotifyRegistrationStatus(context, request, writer, queue, queue,
                                                         tag);
              },
              [this](const auto& request, auto&) { return take(request); }};
};

class DriverServer final : public Server {
 public:
  DriverServer(Options options, Driver& driver, Registered registered)
      : options_(std::move(options)),
        v1_(driver),
        v1beta1_(driver),
        registration_(options_, std::move(registered)) {}

  // Kubelet calls as soon as it knows the driver, so that comes last.
  Result<void> serve(const Log& log) {
    std::error_code error;
    std::filesystem::create_directories(options_.socket.parent_path(), error);
    if (error) {
      return std::unexpected(
          errno_error(error.value(), "mkdir " + options_.socket.parent_path().string()));
    }
    const auto listen = [this](grpc::ServerCompletionQueue& queue) {
      v1_.ask(queue);
      v1beta1_.ask(queue);
    };
    ASSIGN_OR_RETURN(
        calls_, kubelet::SocketServer::start({.socket = options_.socket, .kind = "DRA driver"},
                                             {v1_.service(), v1beta1_.service()}, listen, log));
    ASSIGN_OR_RETURN(
        registrations_,
        kubelet::SocketServer::start(
            {.socket = options_.registration, .watched_folder = true, .kind = "DRA driver"},
            {registration_.service()},
            [this](grpc::ServerCompletionQueue& queue) { registration_.ask(queue); }, log));
    return {};
  }

  bool intact() const override { return calls_->intact() && registrations_->intact(); }

 private:
  const Options options_;
  MethodsV1 v1_;
  MethodsV1beta1 v1beta1_;
  RegistrationMethods registration_;
  // They end in the other order, and before the methods.
  std::unique_ptr<kubelet::SocketServer> calls_;
  std::unique_ptr<kubelet::SocketServer> registrations_;
};

}  // namespace

Result<std::unique_ptr<Server>> Server::start(Options options, Driver& driver,
                                              Registered registered, const Log& log) {
  auto server = std::make_unique<DriverServer>(std::move(options), driver, std::move(registered));
  TRY(server->serve(log));
  return server;
}

}  // namespace tranche::dra
