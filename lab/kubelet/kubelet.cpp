#include "lab/kubelet/kubelet.h"

#include <fmt/format.h>

#include <atomic>
#include <mutex>
#include <set>
#include <system_error>
#include <utility>

#include "base/fs.h"
#include "lab/kubelet/admission.h"
#include "lab/kubelet/device_table.h"
#include "lab/kubelet/fault_gate.h"
#include "lab/kubelet/pod_resources_server.h"
#include "lab/kubelet/registration_server.h"

namespace tranche::lab {

namespace fs = std::filesystem;

namespace {

// As kubelet: folders stay, and the checkpoint.
Result<void> clean_folder(const fs::path& folder) {
  std::error_code problem;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, problem)) {
    if (entry.is_directory(problem) || entry.path().filename() == kCheckpointName) continue;
    fs::remove(entry.path(), problem);
    if (problem) break;
  }
  if (problem) return std::unexpected(errno_error(problem.value(), "clean " + folder.string()));
  return {};
}

void close_all(const std::vector<std::shared_ptr<Endpoint>>& endpoints) {
  for (const auto& endpoint : endpoints) endpoint->close();
}

}  // namespace

struct Kubelet::Impl {
  Impl(Options o, const Clock& c, const Log& l)
      : options(std::move(o)),
        root(fs::absolute(options.root)),
        clock(c),
        log(l),
        table(c, options.grace) {}

  fs::path plugins_folder() const { return root / "device-plugins"; }
  fs::path checkpoint_file() const { return plugins_folder() / kCheckpointName; }

  Checkpoint load() const;
  Result<void> save();
  std::mutex saving;  // a later writer has seen more
  Result<void> serve();
  Result<void> on_register(const RegistrationServer::Request& request);
  Result<void> connect(const RegistrationServer::Request& request, const Registration& entry);
  Result<DeviceTable::Plugin> dial(const fs::path& socket);
  void close_dialing();

  const Options options;
  const fs::path root;
  const Clock& clock;
  const Log& log;
  const FsRoot files;
  DeviceTable table;
  Admission admission{table, [this] { return save(); }};
  FaultGate gate;
  std::atomic<bool> api_server_away = false;

  std::mutex dialing_mutex;
  std::set<std::shared_ptr<Endpoint>> dialing;
  bool closing = false;

  std::mutex lifecycle;  // start and stop, one at a time
  std::unique_ptr<PodResourcesServer> pod_resources;
  std::unique_ptr<RegistrationServer> registration;
};

Checkpoint Kubelet::Impl::load() const {
  if (!files.exists(checkpoint_file())) return {};
  auto text = files.read(checkpoint_file(), std::size_t{64} << 20U);
  auto checkpoint = text ? parse_checkpoint(*text) : std::unexpected(text.error());
  if (checkpoint) return *std::move(checkpoint);
  log.warn(std::move(checkpoint)
               .error()
               .with_context(checkpoint_file().string() + ": continuing without what it held"));
  return {};
}

Result<void> Kubelet::Impl::save() {
  const std::scoped_lock lock(saving);
  const auto written = files.write_atomic(checkpoint_file(), to_text(table.checkpoint()), 0600);
  if (!written) log.error(written.error());
  return written;
}

Result<void> Kubelet::Impl::serve() {
  const fs::path pod_resources_folder = root / "pod-resources";
  TRY(files.make_directories(plugins_folder()));
  TRY(files.make_directories(pod_resources_folder));
  TRY(clean_folder(plugins_folder()));
  table.restore(load());
  ASSIGN_OR_RETURN(pod_resources,
                   PodResourcesServer::serve(pod_resources_folder / "kubelet.sock", [this] {
                     auto snapshot = table.snapshot();
                     if (api_server_away) snapshot.pods.clear();
                     return snapshot;
                   }));
  ASSIGN_OR_RETURN(registration,
                   RegistrationServer::serve(
                       plugins_folder() / "kubelet.sock",
                       [this](const RegistrationServer::Request& r) { return on_register(r); }));
  return {};
}

Result<void> Kubelet::Impl::on_register(const RegistrationServer::Request& request) {
  Registration entry{.resource = request.resource,
                     .endpoint = request.endpoint,
                     .version = request.version,
                     .options = request.options,
                     .time = clock.wall_now()};
  const Result<void> result = connect(request, entry);
  if (result) {
    log.info(fmt::format("registered {} at {}", request.resource, request.endpoint));
  } else {
    entry.error = result.error().what;
    log.warn(fmt::format("refused {}: {}", request.resource, entry.error));
    table.record(std::move(entry));
  }
  return result;
}

Result<void> Kubelet::Impl::connect(const RegistrationServer::Request& request,
                                    const Registration& entry) {
  TRY(gate.pass(request.cancelled));
  TRY(check_registration(request));
  ASSIGN_OR_RETURN(DeviceTable::Plugin plugin, dial(plugins_folder() / request.endpoint));
  // Held: a second registration of the resource may take it out of the table meanwhile.
  const auto held = plugin.endpoint;
  Endpoint* endpoint = held.get();
  close_all(table.attach(request.resource, std::move(plugin)));
  // Before the devices come: a test that sees them finds the registration too.
  table.record(entry);
  endpoint->watch(
      [this, endpoint, resource = request.resource](std::vector<Device> devices) {
        table.receive(resource, endpoint, std::move(devices));
        (void)save();  // as kubelet does; it has reported the failure
      },
      [this, endpoint, resource = request.resource](const Error& why) {
        log.info(fmt::format("stream of {} ended: {}", resource, why.what));
        table.detach(resource, endpoint);
      });
  return {};
}

Result<DeviceTable::Plugin> Kubelet::Impl::dial(const fs::path& socket) {
  auto endpoint = std::make_shared<Endpoint>(socket);
  {
    const std::scoped_lock lock(dialing_mutex);
    if (closing) return fail(Code::kUnavailable, "context canceled");
    dialing.insert(endpoint);
  }
  const Result<PluginOptions> plugin_options = endpoint->connect(options.dial_timeout);
  {
    const std::scoped_lock lock(dialing_mutex);
    dialing.erase(endpoint);
  }
  if (!plugin_options) return std::unexpected(plugin_options.error());
  return DeviceTable::Plugin{.endpoint = std::move(endpoint), .options = *plugin_options};
}

void Kubelet::Impl::close_dialing() {
  const std::scoped_lock lock(dialing_mutex);
  closing = true;
  for (const auto& endpoint : dialing) endpoint->close();
}

Kubelet::Kubelet(Options options, const Clock& clock, const Log& log)
    : impl_(std::make_unique<Impl>(std::move(options), clock, log)) {}

Kubelet::~Kubelet() { stop(); }

Result<void> Kubelet::start() {
  const std::scoped_lock lock(impl_->lifecycle);
  if (impl_->registration)
    return fail(Code::kFailedPrecondition, "the stand-in runs already", "stop it first");
  {
    const std::scoped_lock dialing(impl_->dialing_mutex);
    impl_->closing = false;
  }
  impl_->gate.set_closed(false);
  Result<void> served = impl_->serve();
  if (!served) impl_->pod_resources.reset();
  return served;
}

void Kubelet::stop() {
  const std::scoped_lock lock(impl_->lifecycle);
  impl_->gate.set_closed(true);
  impl_->close_dialing();
  impl_->registration.reset();
  close_all(impl_->table.release_plugins());
  impl_->pod_resources.reset();
}

Result<void> Kubelet::restart() {
  stop();
  return start();
}

void Kubelet::set_api_server_away(bool away) { impl_->api_server_away = away; }

void Kubelet::set_fault(RegisterFault fault) { impl_->gate.set(fault); }

NodeStatus Kubelet::status() const { return impl_->table.status(); }

int Kubelet::capacity(const std::string& resource) const { return status()[resource].capacity; }

int Kubelet::allocatable(const std::string& resource) const {
  return status()[resource].allocatable;
}

std::vector<Device> Kubelet::devices(const std::string& resource) const {
  return impl_->table.devices(resource);
}

std::vector<Registration> Kubelet::registrations() const { return impl_->table.registrations(); }

PodStatus Kubelet::admit(const Pod& pod) { return impl_->admission.admit(pod); }

Result<void> Kubelet::remove(const std::string& pod_uid) {
  return impl_->admission.remove(pod_uid);
}

Result<ContainerHoldings> Kubelet::restart_container(const std::string& pod_uid,
                                                     const std::string& container) {
  return impl_->admission.restart_container(pod_uid, container);
}

Result<Answer> Kubelet::allocate_raw(const std::string& resource, const Ids& ids) {
  const auto plugin = impl_->table.plugin(resource);
  if (!plugin) return fail(Code::kNotFound, "no plugin is connected for " + resource);
  return plugin->endpoint->allocate(ids);
}

Result<Ids> Kubelet::preferred_raw(const std::string& resource, const Ids& available,
                                   const Ids& must_include, int count) {
  const auto plugin = impl_->table.plugin(resource);
  if (!plugin) return fail(Code::kNotFound, "no plugin is connected for " + resource);
  return plugin->endpoint->preferred(available, must_include, count);
}

bool Kubelet::wait_for(const std::function<bool()>& done, std::chrono::milliseconds timeout) const {
  return impl_->table.wait_for(done, timeout);
}

bool Kubelet::wait_allocatable(const std::string& resource, int count,
                               std::chrono::milliseconds timeout) const {
  return wait_for([&] { return allocatable(resource) == count; }, timeout);
}

fs::path Kubelet::registration_socket() const { return impl_->plugins_folder() / "kubelet.sock"; }

fs::path Kubelet::pod_resources_socket() const {
  return impl_->root / "pod-resources" / "kubelet.sock";
}

}  // namespace tranche::lab
