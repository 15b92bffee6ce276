#include "lab/kubelet/registration_server.h"

#include <utility>

#include "kubelet/proto/deviceplugin.grpc.pb.h"
#include "lab/kubelet/go_status.h"
#include "lab/kubelet/unix_server.h"

namespace tranche::lab {

struct RegistrationServer::Impl final : v1beta1::Registration::Service {
  explicit Impl(Handler h) : handler(std::move(h)) {}

  grpc::Status Register(grpc::ServerContext* context, const v1beta1::RegisterRequest* message,
                        v1beta1::Empty* /*answer*/) override {
    const Request request{.version = message->version(),
                          .endpoint = message->endpoint(),
                          .resource = message->resource_name(),
                          .options = {.pre_start_required = message->options().pre_start_required(),
                                      .preferred_allocation =
                                          message->options().get_preferred_allocation_available()},
                          .cancelled = [context] { return context->IsCancelled(); }};
    const Result<void> result = handler(request);
    return result ? grpc::Status::OK : to_status(result.error());
  }

  Handler handler;
  std::unique_ptr<grpc::Server> server;
};

RegistrationServer::RegistrationServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

RegistrationServer::~RegistrationServer() { shut_down(*impl_->server); }

Result<std::unique_ptr<RegistrationServer>> RegistrationServer::serve(
    const std::filesystem::path& socket, Handler handler) {
  auto impl = std::make_unique<Impl>(std::move(handler));
  ASSIGN_OR_RETURN(impl->server, serve_unix(socket, *impl));
  return std::unique_ptr<RegistrationServer>(new RegistrationServer(std::move(impl)));
}

}  // namespace tranche::lab
