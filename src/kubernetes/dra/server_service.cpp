#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <system_error>
#include <utility>

#include "cdi/claim_spec.h"
#include "dra/server.h"
#include "kubelet/proto/dra_health.grpc.pb.h"
#include "kubelet/proto/dra_health_v1.grpc.pb.h"
#include "kubelet/proto/dra_v1.grpc.pb.h"
#include "kubelet/proto/dra_v1beta1.grpc.pb.h"
#include "kubelet/proto/pluginregistration.grpc.pb.h"
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

// The methods of one version of the interface. A call may block for seconds, so gRPC's threads run
// it, and other calls continue.
template <class Service, class PrepareRequest, class PrepareAnswer, class UnprepareRequest,
          class UnprepareAnswer>
class Methods final : public Service {
 public:
  explicit Methods(Driver& driver) : driver_(driver) {}

  grpc::Status NodePrepareResources(grpc::ServerContext* /*context*/, const PrepareRequest* request,
                                    PrepareAnswer* answer) override {
    return prepare(driver_, *request, *answer);
  }
  grpc::Status NodeUnprepareResources(grpc::ServerContext* /*context*/,
                                      const UnprepareRequest* request,
                                      UnprepareAnswer* answer) override {
    return unprepare(driver_, *request, *answer);
  }

 private:
  Driver& driver_;
};

using MethodsV1 = Methods<v1::DRAPlugin::Service, v1::NodePrepareResourcesRequest,
                          v1::NodePrepareResourcesResponse, v1::NodeUnprepareResourcesRequest,
                          v1::NodeUnprepareResourcesResponse>;
using MethodsV1beta1 =
    Methods<v1beta1::DRAPlugin::Service, v1beta1::NodePrepareResourcesRequest,
            v1beta1::NodePrepareResourcesResponse, v1beta1::NodeUnprepareResourcesRequest,
            v1beta1::NodeUnprepareResourcesResponse>;

// Kubelet takes a device's health for unknown after 30 s without a message.
constexpr std::chrono::seconds kBetweenMessages{10};
// How soon the end of a stream by kubelet is detected.
constexpr std::chrono::milliseconds kLookAtStream{500};

// The names of the health service up to Kubernetes 1.36, and from 1.37 on.
struct HealthV1alpha1 {
  using Service = v1alpha1::DRAResourceHealth::Service;
  using Request = v1alpha1::NodeWatchResourcesRequest;
  using Message = v1alpha1::NodeWatchResourcesResponse;
  static constexpr auto kHealthy = v1alpha1::HEALTHY;
  static constexpr auto kUnhealthy = v1alpha1::UNHEALTHY;
};
struct HealthV1 {
  using Service = ::v1::DRAResourceHealth::Service;
  using Request = ::v1::NodeWatchResourcesRequest;
  using Message = ::v1::NodeWatchResourcesResponse;
  static constexpr auto kHealthy = ::v1::HEALTHY;
  static constexpr auto kUnhealthy = ::v1::UNHEALTHY;
};

template <class Names>
typename Names::Message to_wire(const HealthBoard::View& view) {
  typename Names::Message wire;
  const auto at = std::chrono::floor<std::chrono::seconds>(view.at.time_since_epoch()).count();
  for (const auto& device : view.devices) {
    auto& one = *wire.add_devices();
    one.mutable_device()->set_pool_name(device.pool);
    one.mutable_device()->set_device_name(device.device);
    one.set_health(device.reason.empty() ? Names::kHealthy : Names::kUnhealthy);
    one.set_last_updated_time(at);
    one.set_message(device.reason);
  }
  return wire;
}

// A stream of the devices' health: at once, on each change, and at least every kBetweenMessages.
template <class Names>
class HealthMethods final : public Names::Service {
 public:
  explicit HealthMethods(const HealthBoard& board) : board_(board) {}

  // Ends the streams.
  void stop() { stopped_ = true; }

  grpc::Status NodeWatchResources(grpc::ServerContext* context,
                                  const typename Names::Request* /*request*/,
                                  grpc::ServerWriter<typename Names::Message>* writer) override {
    board_.note_asked();
    std::optional<std::uint64_t> sent;
    auto due = std::chrono::steady_clock::now();
    while (!stopped_ && !context->IsCancelled()) {
      const auto view = sent ? board_.await(*sent, kLookAtStream) : board_.await(0, {});
      if (view.stopped) break;
      const auto now = std::chrono::steady_clock::now();
      if (sent == view.version && now < due) continue;
      if (!writer->Write(to_wire<Names>(view))) break;
      sent = view.version;
      due = now + kBetweenMessages;
    }
    return grpc::Status::OK;
  }

 private:
  const HealthBoard& board_;
  std::atomic<bool> stopped_ = false;
};

// Answers kubelet's registration: the driver's name and socket.
class RegistrationMethods final : public pluginregistration::Registration::Service {
 public:
  RegistrationMethods(const Server::Options& options, Server::Registered registered)
      : options_(options), registered_(std::move(registered)) {}

  grpc::Status GetInfo(grpc::ServerContext* /*context*/,
                       const pluginregistration::InfoRequest* /*request*/,
                       pluginregistration::PluginInfo* info) override {
    info->set_type("DRAPlugin");
    info->set_name(options_.driver);
    info->set_endpoint(options_.socket.string());
    // Kubelet uses the first version that it supports.
    info->add_supported_versions("v1.DRAPlugin");
    info->add_supported_versions("v1beta1.DRAPlugin");
    info->add_supported_versions("v1.DRAResourceHealth");
    info->add_supported_versions("v1alpha1.DRAResourceHealth");
    return grpc::Status::OK;
  }
  grpc::Status NotifyRegistrationStatus(
      grpc::ServerContext* /*context*/, const pluginregistration::RegistrationStatus* status,
      pluginregistration::RegistrationStatusResponse* /*answer*/) override {
    if (!registered_) return grpc::Status::OK;
    registered_(status->plugin_registered() ? Result<void>()
                                            : fail(Code::kFailedPrecondition,
                                                   fmt::format("kubelet refuses driver {}: {}",
                                                               options_.driver, status->error())));
    return grpc::Status::OK;
  }

 private:
  const Server::Options& options_;
  const Server::Registered registered_;
};

// Removes sockets left by killed agents. Kubelet would try them again and again.
void remove_dead(const Server::Options& options) {
  std::error_code error;
  const auto prefix = options.driver + '-';
  for (const auto& entry :
       std::filesystem::directory_iterator(options.registration.parent_path(), error)) {
    const auto name = entry.path().filename().string();
    const bool ours = name.starts_with(prefix) && name.ends_with("-reg.sock");
    if (!ours || !entry.is_socket(error) || kubelet::socket_answers(entry.path())) continue;
    std::filesystem::remove(entry.path(), error);
  }
}

class DriverServer final : public Server {
 public:
  DriverServer(Options options, Driver& driver, const HealthBoard& health, Registered registered)
      : options_(std::move(options)),
        v1_(driver),
        v1beta1_(driver),
        health_v1_(health),
        health_v1alpha1_(health),
        registration_(options_, std::move(registered)) {}

  // Kubelet's streams only end on request.
  ~DriverServer() override {
    health_v1_.stop();
    health_v1alpha1_.stop();
  }

  // The registration socket comes last, because kubelet calls as soon as it sees it.
  Result<void> serve(const Log& log) {
    std::error_code error;
    std::filesystem::create_directories(options_.socket.parent_path(), error);
    if (error) {
      return std::unexpected(
          errno_error(error.value(), "mkdir " + options_.socket.parent_path().string()));
    }
    remove_dead(options_);
    ASSIGN_OR_RETURN(calls_, kubelet::SocketServer::start(
                                 {.socket = options_.socket, .kind = "DRA driver"},
                                 {&v1_, &v1beta1_, &health_v1_, &health_v1alpha1_}, {}, log));
    ASSIGN_OR_RETURN(registrations_, kubelet::SocketServer::start({.socket = options_.registration,
                                                                   .watched_folder = true,
                                                                   .kind = "DRA driver"},
                                                                  {&registration_}, {}, log));
    return {};
  }

  bool intact() const override { return calls_->intact() && registrations_->intact(); }

 private:
  const Options options_;
  MethodsV1 v1_;
  MethodsV1beta1 v1beta1_;
  HealthMethods<HealthV1> health_v1_;
  HealthMethods<HealthV1alpha1> health_v1alpha1_;
  RegistrationMethods registration_;
  // Destroyed in reverse order, and before the methods.
  std::unique_ptr<kubelet::SocketServer> calls_;
  std::unique_ptr<kubelet::SocketServer> registrations_;
};

}  // namespace

Result<std::unique_ptr<Server>> Server::start(Options options, Driver& driver,
                                              const HealthBoard& health, Registered registered,
                                              const Log& log) {
  auto server =
      std::make_unique<DriverServer>(std::move(options), driver, health, std::move(registered));
  TRY(server->serve(log));
  return server;
}

}  // namespace tranche::dra
