#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/file_identity.h"
#include "deviceplugin/server.h"
#include "deviceplugin/wire.h"
#include "kubelet/proto/deviceplugin.grpc.pb.h"

namespace tranche::deviceplugin {
namespace {

// Appended to the socket's name while it is being bound.
constexpr std::string_view kBindSuffix = ".new";
// How often an idle stream looks whether its kubelet is still there; changes are sent at once.
constexpr std::chrono::seconds kStreamCheck{1};
// NVIDIA's plugin answers every error as Unknown, and kubelet prints the text.
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

class GrpcServer final : public Server {
 public:
  GrpcServer(std::filesystem::path socket, Resource& resource)
      : socket_(std::move(socket)), service_(resource, stop_.get_token()) {}

  ~GrpcServer() override {
    stop_.request_stop();
    if (server_ != nullptr) server_->Shutdown(std::chrono::system_clock::now());
    if (socket_intact()) ::unlink(socket_.c_str());
  }

  // Binds under another name and renames: the path never lacks a socket that answers, and gRPC,
  // which unlinks at shutdown whatever then lies at the path it bound, cannot remove a successor's.
  bool listen() {
    const auto bound_path = socket_.string() + std::string(kBindSuffix);
    grpc::ServerBuilder builder;
    builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
    builder.SetSyncServerOption(grpc::ServerBuilder::MIN_POLLERS, 1);
    builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 2);
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    int bound = 0;
    builder.AddListeningPort("unix:" + bound_path, grpc::InsecureServerCredentials(), &bound);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr || bound == 0) return false;
    if (::rename(bound_path.c_str(), socket_.c_str()) != 0) return false;
    file_ = identify(socket_);
    return file_.exists();
  }

  bool socket_intact() const override {
    return file_.exists() && identify(socket_).same_inode(file_);
  }

 private:
  std::filesystem::path socket_;
  std::stop_source stop_;
  PluginService service_;
  FileIdentity file_;
  std::unique_ptr<grpc::Server> server_;
};

Result<sockaddr_un> address_of(const std::filesystem::path& socket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const auto text = socket.string();
  constexpr std::size_t kLongest = sizeof(address.sun_path) - 1 - kBindSuffix.size();
  if (text.size() > kLongest) {
    return fail(Code::kInvalidArgument,
                fmt::format("socket path {} is {} bytes long, at most {} are possible", text,
                            text.size(), kLongest),
                "use a shorter --kubelet-root");
  }
  std::memcpy(address.sun_path, text.c_str(), text.size() + 1);
  return address;
}

// Whether a process accepts connections there.
bool answers(const sockaddr_un& address) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return false;
  const int rc = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  // EAGAIN: somebody listens and its backlog is full.
  const bool live = rc == 0 || errno == EAGAIN || errno == EINPROGRESS;
  ::close(fd);
  return live;
}

}  // namespace

Result<std::unique_ptr<Server>> Server::start(const Options& options, Resource& resource,
                                              const Log& log) {
  ASSIGN_OR_RETURN(const auto address, address_of(options.socket));
  if (answers(address)) {
    if (!options.take_over) {
      return fail(Code::kAlreadyExists,
                  fmt::format("another device plugin answers on {}", options.socket.string()),
                  "remove it from this node, or start the agent with --take-over");
    }
    log.warn(fmt::format("taking {} over from the process that answers on it (--take-over)",
                         options.socket.string()));
  }
  auto server = std::make_unique<GrpcServer>(options.socket, resource);
  if (!server->listen()) {
    return fail(Code::kIo, fmt::format("cannot listen on {}", options.socket.string()),
                "check that the folder exists and is writable");
  }
  return server;
}

}  // namespace tranche::deviceplugin
