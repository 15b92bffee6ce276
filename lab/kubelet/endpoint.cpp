#include "lab/kubelet/endpoint.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "kubelet/proto/deviceplugin.grpc.pb.h"
#include "lab/kubelet/go_status.h"

namespace tranche::lab {

namespace {

std::shared_ptr<grpc::Channel> open_channel(const std::filesystem::path& socket) {
  grpc::ChannelArguments arguments;
  arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
  // A plugin that comes back on the same path must not inherit the back-off of its last connection.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 100);
  return grpc::CreateCustomChannel("unix:" + socket.string(), grpc::InsecureChannelCredentials(),
                                   arguments);
}

Device device_from(const v1beta1::Device& message) {
  Device device{.id = message.id(), .healthy = message.health() == "Healthy"};
  for (const v1beta1::NUMANode& node : message.topology().nodes())
    device.numa_nodes.push_back(node.id());
  return device;
}

Answer answer_from(const v1beta1::ContainerAllocateResponse& message) {
  Answer answer{.envs = {message.envs().begin(), message.envs().end()},
                .annotations = {message.annotations().begin(), message.annotations().end()}};
  for (const v1beta1::Mount& mount : message.mounts())
    answer.mounts.push_back({mount.container_path(), mount.host_path(), mount.read_only()});
  for (const v1beta1::DeviceSpec& node : message.devices())
    answer.devices.push_back({node.container_path(), node.host_path(), node.permissions()});
  for (const v1beta1::CDIDevice& device : message.cdi_devices())
    answer.cdi_devices.push_back(device.name());
  return answer;
}

}  // namespace

struct Endpoint::Impl {
  explicit Impl(std::filesystem::path path)
      : socket(std::move(path)),
        channel(open_channel(socket)),
        stub(v1beta1::DevicePlugin::NewStub(channel)) {}

  // A call that close() can end.
  class Call {
   public:
    explicit Call(Impl& endpoint) : endpoint_(endpoint) {
      const std::scoped_lock lock(endpoint_.mutex);
      endpoint_.calls.insert(&context);
      if (endpoint_.closed) context.TryCancel();
    }
    ~Call() {
      const std::scoped_lock lock(endpoint_.mutex);
      endpoint_.calls.erase(&context);
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    grpc::ClientContext context;

   private:
    Impl& endpoint_;
  };

  bool is_closed() {
    const std::scoped_lock lock(mutex);
    return closed;
  }

  const std::filesystem::path socket;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<v1beta1::DevicePlugin::Stub> stub;
  std::mutex mutex;
  std::set<grpc::ClientContext*> calls;
  bool closed = false;
  std::jthread watcher;
};

Endpoint::Endpoint(std::filesystem::path socket)
    : impl_(std::make_unique<Impl>(std::move(socket))) {}

Endpoint::~Endpoint() { close(); }

void Endpoint::close() {
  const std::scoped_lock lock(impl_->mutex);
  impl_->closed = true;
  for (grpc::ClientContext* context : impl_->calls) context->TryCancel();
}

Result<PluginOptions> Endpoint::connect(std::chrono::milliseconds dial_timeout) {
  const auto deadline = std::chrono::system_clock::now() + dial_timeout;
  // In short turns, because only a call can be cancelled, not the wait for a connection.
  constexpr auto kTurn = std::chrono::milliseconds(20);
  for (bool up = false; !up;) {
    const auto now = std::chrono::system_clock::now();
    if (impl_->is_closed()) return fail(Code::kUnavailable, "context canceled");
    if (now >= deadline)
      return fail(Code::kTimeout, "failed to dial device plugin: context deadline exceeded");
    up = impl_->channel->WaitForConnected(std::min(now + kTurn, deadline));
  }
  Impl::Call call(*impl_);
  v1beta1::DevicePluginOptions options;
  const grpc::Status status = impl_->stub->GetDevicePluginOptions(&call.context, {}, &options);
  if (!status.ok())
    return std::unexpected(go_error(status).with_context("failed to get device plugin options"));
  return PluginOptions{.pre_start_required = options.pre_start_required(),
                       .preferred_allocation = options.get_preferred_allocation_available()};
}

void Endpoint::watch(OnDevices on_devices, OnEnd on_end) {
  impl_->watcher = std::jthread(
      [impl = impl_.get(), on_devices = std::move(on_devices), on_end = std::move(on_end)] {
        Impl::Call call(*impl);
        const auto stream = impl->stub->ListAndWatch(&call.context, {});
        v1beta1::ListAndWatchResponse list;
        while (stream->Read(&list)) {
          std::vector<Device> devices;
          for (const v1beta1::Device& device : list.devices())
            devices.push_back(device_from(device));
          on_devices(std::move(devices));
        }
        on_end(go_error(stream->Finish()));
      });
}

Result<Answer> Endpoint::allocate(const Ids& ids) {
  Impl::Call call(*impl_);
  v1beta1::AllocateRequest request;
  request.add_container_requests()->mutable_devices_ids()->Assign(ids.begin(), ids.end());
  v1beta1::AllocateResponse response;
  const grpc::Status status = impl_->stub->Allocate(&call.context, request, &response);
  if (!status.ok()) return std::unexpected(go_error(status));
  if (response.container_responses().empty())
    return fail(Code::kInternal, "no containers return in allocation response");
  return answer_from(response.container_responses(0));
}

Result<Ids> Endpoint::preferred(const Ids& available, const Ids& must_include, int count) {
  Impl::Call call(*impl_);
  v1beta1::PreferredAllocationRequest request;
  auto& container = *request.add_container_requests();
  container.mutable_available_deviceids()->Assign(available.begin(), available.end());
  container.mutable_must_include_deviceids()->Assign(must_include.begin(), must_include.end());
  container.set_allocation_size(count);
  v1beta1::PreferredAllocationResponse response;
  const grpc::Status status =
      impl_->stub->GetPreferredAllocation(&call.context, request, &response);
  if (!status.ok()) return std::unexpected(go_error(status));
  if (response.container_responses().empty()) return Ids{};
  const auto& ids = response.container_responses(0).deviceids();
  return Ids{ids.begin(), ids.end()};
}

Result<void> Endpoint::pre_start(const Ids& ids) {
  Impl::Call call(*impl_);
  v1beta1::PreStartContainerRequest request;
  request.mutable_devices_ids()->Assign(ids.begin(), ids.end());
  v1beta1::PreStartContainerResponse response;
  const grpc::Status status = impl_->stub->PreStartContainer(&call.context, request, &response);
  if (!status.ok()) return std::unexpected(go_error(status));
  return {};
}

}  // namespace tranche::lab
