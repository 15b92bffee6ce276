#include <list>
#include <mutex>

#include "deviceplugin/server.h"
#include "deviceplugin/wire.h"
#include "kubelet/proto/deviceplugin.grpc.pb.h"
#include "kubelet/server_call.h"
#include "kubelet/socket_server.h"

namespace tranche::deviceplugin {
namespace {

using Service = v1beta1::DevicePlugin::AsyncService;

// NVIDIA's plugin returns every error as Unknown, and kubelet prints the text.
grpc::Status unknown(const Error& error) { return {grpc::StatusCode::UNKNOWN, error.message()}; }

// The open ListAndWatch calls of a server. Each is sent the list at once and again when it has
// changed: by the thread that changes it, unless a message is still being sent. Changes meanwhile
// are sent as one list afterwards.
class ListStreams {
 public:
  ListStreams(Service& service, Resource& resource) : service_(service), resource_(resource) {}

  // Asks for the next call.
  void ask(const kubelet::SocketServer::Queue& queue) {
    const std::scoped_lock lock(mutex_);
    streams_.emplace_back(*this, queue);
    auto& stream = streams_.back();
    stream.self = std::prev(streams_.end());
    stream.context.AsyncNotifyWhenDone(kubelet::SocketServer::tag(&stream.on_end));
    service_.RequestListAndWatch(&stream.context, &stream.request, &stream.writer, queue.grpc,
                                 queue.grpc, kubelet::SocketServer::tag(&stream.on_call));
  }

  void send_changes() {
    const std::scoped_lock lock(mutex_);
    for (auto& stream : streams_) stream.send();
  }

 private:
  struct Stream {
    Stream(ListStreams& owner, const kubelet::SocketServer::Queue& its_queue)
        : all(owner), queue(its_queue) {}

    void called(bool ok) {
      if (!ok) return all.remove(*this);
      if (!queue.closed) all.ask(queue);
      const std::scoped_lock lock(all.mutex_);
      open = true;
      send();
    }
    // A write that fails is the end of the call, which comes as an event of its own.
    void sent(bool ok) {
      std::unique_lock lock(all.mutex_);
      writing = false;
      open = open && ok;
      send();
      const bool over = ended;
      lock.unlock();
      if (over) all.remove(*this);
    }
    void end(bool) {
      std::unique_lock lock(all.mutex_);
      open = false;
      ended = true;
      const bool over = !writing;
      lock.unlock();
      if (over) all.remove(*this);
    }
    // Called under the lock, which no event is waited for with.
    void send() {
      if (!open || writing || queue.closed) return;
      const auto listing = all.resource_.listing();
      if (listing.version == version) return;
      version = listing.version;
      writing = true;
      writer.Write(to_wire(*listing.offer), kubelet::SocketServer::tag(&on_sent));
    }

    ListStreams& all;
    const kubelet::SocketServer::Queue& queue;
    std::list<Stream>::iterator self;
    grpc::ServerContext context;
    v1beta1::Empty request;
    grpc::ServerAsyncWriter<v1beta1::ListAndWatchResponse> writer{&context};
    kubelet::Step<Stream> on_call{*this, &Stream::called};
    kubelet::Step<Stream> on_sent{*this, &Stream::sent};
    kubelet::Step<Stream> on_end{*this, &Stream::end};
    std::uint64_t version = 0;  // sent last
    bool open = false;
    bool writing = false;
    bool ended = false;
  };

  void remove(Stream& stream) {
    std::list<Stream> gone;
    const std::scoped_lock lock(mutex_);
    gone.splice(gone.end(), streams_, stream.self);
  }

  Service& service_;
  Resource& resource_;
  std::mutex mutex_;
  std::list<Stream> streams_;
};

// Everything but the streams.
class PluginMethods {
 public:
  PluginMethods(Service& service, Resource& resource) : service_(service), resource_(resource) {}

  void ask(const kubelet::SocketServer::Queue& queue) {
    kubelet::UnaryCall<v1beta1::Empty, v1beta1::DevicePluginOptions>::ask(options_, queue);
    kubelet::UnaryCall<v1beta1::AllocateRequest, v1beta1::AllocateResponse>::ask(allocate_, queue);
    kubelet::UnaryCall<v1beta1::PreferredAllocationRequest,
                       v1beta1::PreferredAllocationResponse>::ask(preferred_, queue);
    kubelet::UnaryCall<v1beta1::PreStartContainerRequest, v1beta1::PreStartContainerResponse>::ask(
        pre_start_, queue);
  }

 private:
  grpc::Status allocate(const v1beta1::AllocateRequest& request,
                        v1beta1::AllocateResponse& answer) const {
    for (const auto& container : request.container_requests()) {
      const std::vector<std::string> ids(container.devices_ids().begin(),
                                         container.devices_ids().end());
      const auto grant = resource_.allocate(ids);
      if (!grant) return unknown(grant.error());
      to_wire(*grant, *answer.add_container_responses());
    }
    return grpc::Status::OK;
  }

  grpc::Status preferred(const v1beta1::PreferredAllocationRequest& request,
                         v1beta1::PreferredAllocationResponse& answer) const {
    for (const auto& container : request.container_requests()) {
      const auto preferred = resource_.preferred(from_wire(container));
      if (!preferred) return unknown(preferred.error());
      auto& ids = *answer.add_container_responses()->mutable_deviceids();
      ids.Assign(preferred->ids.begin(), preferred->ids.end());
    }
    return grpc::Status::OK;
  }

  grpc::Status options(v1beta1::DevicePluginOptions& answer) const {
    answer.set_get_preferred_allocation_available(true);
    return grpc::Status::OK;
  }

  Service& service_;
  Resource& resource_;
  const kubelet::Method<v1beta1::Empty, v1beta1::DevicePluginOptions> options_{
      [this](auto* context, auto* request, auto* writer, auto* queue, void* tag) {
        service_.RequestGetDevicePluginOptions(context, request, writer, queue, queue, tag);
      },
      [this](const auto&, auto& answer) { return options(answer); }};
  const kubelet::Method<v1beta1::AllocateRequest, v1beta1::AllocateResponse> allocate_{
      [this](auto* context, auto* request, auto* writer, auto* queue, void* tag) {
        service_.RequestAllocate(context, request, writer, queue, queue, tag);
      },
      [this](const auto& request, auto& answer) { return allocate(request, answer); }};
  const kubelet::Method<v1beta1::PreferredAllocationRequest, v1beta1::PreferredAllocationResponse>
      preferred_{[this](auto* context, auto* request, auto* writer, auto* queue, void* tag) {
                   service_.RequestGetPreferredAllocation(context, request, writer, queue, queue,
                                                          tag);
                 },
                 [this](const auto& request, auto& answer) { return preferred(request, answer); }};
  const kubelet::Method<v1beta1::PreStartContainerRequest, v1beta1::PreStartContainerResponse>
      pre_start_{[this](auto* context, auto* request, auto* writer, auto* queue, void* tag) {
                   service_.RequestPreStartContainer(context, request, writer, queue, queue, tag);
                 },
                 [](const auto&, auto&) { return grpc::Status::OK; }};
};

class PluginServer final : public Server {
 public:
  explicit PluginServer(Resource& resource)
      : resource_(resource), streams_(service_, resource), methods_(service_, resource) {}
  // No list is sent while the server ends.
  ~PluginServer() override { resource_.forget(listener_); }

  Result<void> serve(const Options& options, const Log& log) {
    const auto listen = [this](const kubelet::SocketServer::Queue& queue) {
      streams_.ask(queue);
      methods_.ask(queue);
    };
    ASSIGN_OR_RETURN(server_, kubelet::SocketServer::start({.socket = options.socket,
                                                            .take_over = options.take_over,
                                                            .handed_over = options.handed_over,
                                                            .kind = "device plugin"},
                                                           {&service_}, listen, log));
    return {};
  }

  bool took_over() const override { return server_->took_over(); }
  bool socket_intact() const override { return server_->intact(); }
  std::vector<Descriptor> connections() const override { return server_->connections(); }

 private:
  Resource& resource_;
  Service service_;
  ListStreams streams_;
  PluginMethods methods_;
  const Resource::Listener listener_ = resource_.listen([this] { streams_.send_changes(); });
  std::unique_ptr<kubelet::SocketServer> server_;  // last: it ends the calls of the others
};

}  // namespace

Result<std::unique_ptr<Server>> Server::start(const Options& options, Resource& resource,
                                              const Log& log) {
  auto server = std::make_unique<PluginServer>(resource);
  TRY(server->serve(options, log));
  return server;
}

}  // namespace tranche::deviceplugin
