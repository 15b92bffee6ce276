#include "lab/fake_plugin.h"

#include <fmt/ranges.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "kubelet/proto/deviceplugin.grpc.pb.h"

namespace tranche::test {

namespace {

// Streams and hanging calls see a cancellation only by looking.
constexpr auto kLookAgain = std::chrono::milliseconds(10);

v1beta1::ListAndWatchResponse list_of(const std::vector<lab::Device>& devices) {
  v1beta1::ListAndWatchResponse list;
  for (const lab::Device& device : devices) {
    v1beta1::Device& out = *list.add_devices();
    out.set_id(device.id);
    out.set_health(device.healthy ? "Healthy" : "Unhealthy");
    for (const std::int64_t node : device.numa_nodes)
      out.mutable_topology()->add_nodes()->set_id(node);
  }
  return list;
}

void fill(const lab::Answer& answer, v1beta1::ContainerAllocateResponse& out) {
  out.mutable_envs()->insert(answer.envs.begin(), answer.envs.end());
  out.mutable_annotations()->insert(answer.annotations.begin(), answer.annotations.end());
  for (const lab::Mount& mount : answer.mounts) {
    v1beta1::Mount& to = *out.add_mounts();
    to.set_container_path(mount.container_path);
    to.set_host_path(mount.host_path);
    to.set_read_only(mount.read_only);
  }
  for (const lab::DeviceNode& node : answer.devices) {
    v1beta1::DeviceSpec& to = *out.add_devices();
    to.set_container_path(node.container_path);
    to.set_host_path(node.host_path);
    to.set_permissions(node.permissions);
  }
  for (const std::string& name : answer.cdi_devices) out.add_cdi_devices()->set_name(name);
}

}  // namespace

lab::Answer expected_answer(const lab::Ids& ids) {
  return {.envs = {{"VISIBLE", fmt::format("{}", fmt::join(ids, ","))}},
          .mounts = {{"/in", "/out", true}},
          .devices = {{"/dev/a", "/dev/b", "rw"}},
          .annotations = {{"note", "x"}},
          .cdi_devices = {"example.com/gpu=0"}};
}

struct FakePlugin::Impl final : v1beta1::DevicePlugin::Service {
  Impl(std::filesystem::path f, Options o) : folder(std::move(f)), options(std::move(o)) {}

  grpc::Status GetDevicePluginOptions(grpc::ServerContext* /*context*/,
                                      const v1beta1::Empty* /*in*/,
                                      v1beta1::DevicePluginOptions* out) override {
    out->set_pre_start_required(options.pre_start_required);
    out->set_get_preferred_allocation_available(options.preferred.has_value());
    return grpc::Status::OK;
  }

  grpc::Status ListAndWatch(grpc::ServerContext* context, const v1beta1::Empty* /*in*/,
                            grpc::ServerWriter<v1beta1::ListAndWatchResponse>* out) override {
    std::unique_lock lock(mutex);
    const grpc::string_ref host = context->ExperimentalGetAuthority();
    authority.assign(host.data(), host.size());
    int sent = -1;
    while (!stopping && !context->IsCancelled()) {
      if (sent == version) {
        changed.wait_for(lock, kLookAgain);
        continue;
      }
      sent = version;
      const v1beta1::ListAndWatchResponse list = list_of(options.devices);
      lock.unlock();
      out->Write(list);
      lock.lock();
    }
    return grpc::Status::OK;
  }

  grpc::Status GetPreferredAllocation(grpc::ServerContext* /*context*/,
                                      const v1beta1::PreferredAllocationRequest* in,
                                      v1beta1::PreferredAllocationResponse* out) override {
    const std::scoped_lock lock(mutex);
    const auto& request = in->container_requests(0);
    calls.preferred_available.emplace_back(request.available_deviceids().begin(),
                                           request.available_deviceids().end());
    calls.preferred_must_include.emplace_back(request.must_include_deviceids().begin(),
                                              request.must_include_deviceids().end());
    auto& ids = *out->add_container_responses();
    for (const std::string& id : options.preferred.value()) ids.add_deviceids(id);
    return grpc::Status::OK;
  }

  grpc::Status Allocate(grpc::ServerContext* context, const v1beta1::AllocateRequest* in,
                        v1beta1::AllocateResponse* out) override {
    std::unique_lock lock(mutex);
    const auto& ids = in->container_requests(0).devices_ids();
    calls.allocate.emplace_back(ids.begin(), ids.end());
    if (hang) {
      hanging = true;
      changed.notify_all();
      while (!context->IsCancelled() && !stopping) changed.wait_for(lock, kLookAgain);
      return {grpc::StatusCode::CANCELLED, "given up"};
    }
    if (!options.allocate_error.empty()) return {grpc::StatusCode::UNKNOWN, options.allocate_error};
    fill(expected_answer(calls.allocate.back()), *out->add_container_responses());
    return grpc::Status::OK;
  }

  grpc::Status PreStartContainer(grpc::ServerContext* /*context*/,
                                 const v1beta1::PreStartContainerRequest* in,
                                 v1beta1::PreStartContainerResponse* /*out*/) override {
    const std::scoped_lock lock(mutex);
    calls.pre_start.emplace_back(in->devices_ids().begin(), in->devices_ids().end());
    if (!options.pre_start_error.empty())
      return {grpc::StatusCode::UNKNOWN, options.pre_start_error};
    return grpc::Status::OK;
  }

  const std::filesystem::path folder;
  Options options;
  mutable std::mutex mutex;
  std::condition_variable changed;
  int version = 0;
  bool stopping = false;
  bool hang = false;
  bool hanging = false;
  Calls calls;
  std::string authority;
  std::unique_ptr<grpc::Server> server;
};

FakePlugin::FakePlugin(std::filesystem::path folder, Options options)
    : impl_(std::make_unique<Impl>(std::move(folder), std::move(options))) {
  std::filesystem::remove(socket());
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + socket().string(), grpc::InsecureServerCredentials());
  builder.RegisterService(impl_.get());
  impl_->server = builder.BuildAndStart();
  if (!impl_->server) throw std::runtime_error("cannot serve " + socket().string());
}

FakePlugin::~FakePlugin() {
  {
    const std::scoped_lock lock(impl_->mutex);
    impl_->stopping = true;
    impl_->changed.notify_all();
  }
  impl_->server->Shutdown(std::chrono::system_clock::now());
  impl_->server->Wait();
}

Result<void> FakePlugin::register_with_kubelet(const std::string& version, int deadline_ms) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  const auto stub = v1beta1::Registration::NewStub(
      grpc::CreateCustomChannel("unix:" + (impl_->folder / "kubelet.sock").string(),
                                grpc::InsecureChannelCredentials(), arguments));
  v1beta1::RegisterRequest request;
  request.set_version(version);
  request.set_endpoint(impl_->options.endpoint);
  request.set_resource_name(impl_->options.resource);
  request.mutable_options()->set_pre_start_required(impl_->options.pre_start_required);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(deadline_ms));
  v1beta1::Empty answer;
  const grpc::Status status = stub->Register(&context, request, &answer);
  if (status.ok()) return {};
  const bool late = status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED;
  return fail(late ? Code::kTimeout : Code::kInternal, status.error_message());
}

void FakePlugin::set_devices(std::vector<lab::Device> devices) {
  const std::scoped_lock lock(impl_->mutex);
  impl_->options.devices = std::move(devices);
  ++impl_->version;
  impl_->changed.notify_all();
}

void FakePlugin::hang_allocate() {
  const std::scoped_lock lock(impl_->mutex);
  impl_->hang = true;
}

bool FakePlugin::wait_until_hanging() {
  std::unique_lock lock(impl_->mutex);
  return impl_->changed.wait_for(lock, std::chrono::seconds(10), [&] { return impl_->hanging; });
}

FakePlugin::Calls FakePlugin::calls() const {
  const std::scoped_lock lock(impl_->mutex);
  return impl_->calls;
}

std::filesystem::path FakePlugin::socket() const { return impl_->folder / impl_->options.endpoint; }

std::string FakePlugin::authority() const {
  const std::scoped_lock lock(impl_->mutex);
  return impl_->authority;
}

}  // namespace tranche::test
