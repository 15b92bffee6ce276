#include "agent/plugins/plugin_follower.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "agent/plugins/desired.h"

namespace tranche::agent {

PluginFollower::PluginFollower(Options options, Parts parts)
    : options_(std::move(options)), parts_(std::move(parts)) {
  start_registrar();
  kubelet_socket_ = PinnedFile(options_.kubelet_socket);
  plugins_.emplace(PluginSet::Options{.dir = options_.dir, .take_over = options_.take_over},
                   PluginSet::Calls{.store = parts_.store,
                                    .refused =
                                        [this](const std::string& resource, const Error& why) {
                                          post({.kind = PluginEvent::Kind::kRefused,
                                                .resource = resource,
                                                .detail = why.what});
                                        }},
                   registrar_.get(), parts_.log);
}

PluginFollower::~PluginFollower() {
  if (folder_) parts_.loop.forget(folder_->fd());
  for (const auto& kept : kept_) parts_.loop.forget(kept.descriptor.get());
}

Result<void> PluginFollower::follow(const Round& round) {
  followed_ = true;
  wanted_.clear();
  for (const auto& resource : round.offer->resources) wanted_.push_back(resource.name.value);
  plugins_->apply(make_states(*round.offer, round.state, parts_.cdi.modes()), parts_.clock.now());
  return {};
}

// The folder is watched after the first round, or the sockets made there would count as changes.
void PluginFollower::tick(TimePoint now) {
  if (!watched_) {
    watched_ = true;
    watch_folder();
    on_folder_change();  // for changes before it was watched
  }
  plugins_->tick(now);
  for (const auto& resource : plugins_->take_taken()) {
    events_.push_back({.kind = PluginEvent::Kind::kSocketLost, .resource = resource});
  }
  look_whether_served();
  if (!served_) drop_kept_of_nobody();
}

std::string PluginFollower::trouble() const {
  for (const auto& resource : wanted_) {
    const auto why = plugins_->socket_trouble(resource);
    if (!why.empty()) return fmt::format("{} cannot be served: {}", resource, why);
  }
  return plugins_->serving() < wanted_.size() ? "a resource cannot be served, see the log" : "";
}

void PluginFollower::post(PluginEvent event) {
  parts_.loop.post([this, event = std::move(event)]() mutable {
    constexpr std::size_t kMost = 100;
    if (events_.size() >= kMost) events_.erase(events_.begin());
    events_.push_back(std::move(event));
  });
}

void PluginFollower::start_registrar() {
  if (options_.kubelet_socket.empty()) {
    parts_.log.info("not registering with kubelet (--kubelet-socket is empty)");
    return;
  }
  registrar_ = std::make_unique<Registrar>(
      [this](const Registrar::Request& request, const std::stop_token& stop) {
        return register_pinned(request, stop);
      },
      parts_.log);
}

// Runs on the registrar's thread. The socket is pinned, so the attempt does not reach a kubelet
// that replaces this one meanwhile: that one gets its own registration, which this one would cut
// off.
Result<void> PluginFollower::register_pinned(const Registrar::Request& request,
                                             const std::stop_token& stop) {
  const auto kubelet = std::make_shared<const PinnedFile>(options_.kubelet_socket);
  {
    const std::scoped_lock lock(tried_mutex_);
    tried_with_[request.resource] = {.kubelet = kubelet};
  }
  auto result = parts_.register_plugin(request, *kubelet, stop);
  {
    const std::scoped_lock lock(tried_mutex_);
    if (result) {
      tried_with_[request.resource].done = true;
    } else {
      tried_with_.erase(request.resource);
    }
  }
  if (result) post({.kind = PluginEvent::Kind::kRegistered, .resource = request.resource});
  return result;
}

bool PluginFollower::is_registered(const std::string& resource) {
  const std::scoped_lock lock(tried_mutex_);
  const auto found = tried_with_.find(resource);
  return found != tried_with_.end() && found->second.done &&
         found->second.kubelet->same(kubelet_socket_);
}

void PluginFollower::inherit(std::vector<process::NamedDescriptor> connections,
                             std::function<void()> served) {
  kept_ = std::move(connections);
  served_ = std::move(served);
  plugins_->set_handed_over(true);
}

Result<void> PluginFollower::predecessor_ended() {
  for (const auto& kept : kept_) {
    const int fd = kept.descriptor.get();
    const auto added = parts_.loop.on_readable(fd, [this, fd] { on_kept_readable(fd); });
    if (!added) parts_.log.warn(added.error().message());
  }
  return {};
}

void PluginFollower::look_whether_served() {
  if (!served_ || !followed_) return;
  const auto is_done = [this](const auto& resource) { return is_registered(resource); };
  if (registers() && !std::ranges::all_of(wanted_, is_done)) return;
  plugins_->set_handed_over(false);
  std::exchange(served_, nullptr)();
}

// Kubelet sends nothing on such a connection, so it was stopped. If it asks something all the same,
// it must not wait for ever.
void PluginFollower::on_kept_readable(int fd) {
  const auto kept =
      std::ranges::find_if(kept_, [&](const auto& one) { return one.descriptor.get() == fd; });
  if (kept == kept_.end()) return;
  parts_.loop.forget(fd);
  const auto endpoint = kept->name;
  kept_.erase(kept);
  plugins_->register_again_at(endpoint);
}

// Lets kubelet see the end of a resource that is no longer served.
void PluginFollower::drop_kept_of_nobody() {
  std::erase_if(kept_, [&](const auto& one) {
    if (plugins_->has(one.name)) return false;
    parts_.loop.forget(one.descriptor.get());
    return true;
  });
}

std::vector<process::NamedDescriptor> PluginFollower::handed_over() const {
  auto all = plugins_->connections();
  for (const auto& kept : kept_) {
    all.push_back({kept.name, Descriptor(::fcntl(kept.descriptor.get(), F_DUPFD_CLOEXEC, 0))});
  }
  return all;
}

bool PluginFollower::tried_with_this_kubelet(const std::string& resource) {
  const std::scoped_lock lock(tried_mutex_);
  const auto found = tried_with_.find(resource);
  return found != tried_with_.end() && found->second.kubelet->same(kubelet_socket_);
}

void PluginFollower::watch_folder() {
  std::vector<std::filesystem::path> paths = {options_.dir};
  if (!options_.kubelet_socket.empty()) paths.push_back(options_.kubelet_socket);
  auto watch = Watch::open(std::move(paths));
  auto added = watch ? parts_.loop.on_readable(watch->fd(),
                                               [this] {
                                                 if (folder_->drain()) on_folder_change();
                                               })
                     : std::unexpected(watch.error());
  if (!added) {
    parts_.log.error(
        fmt::format("changes are not noticed until SIGHUP: {}", added.error().message()));
    return;
  }
  folder_ = *std::move(watch);
}

// Handles a restarted kubelet (another socket) and removed sockets of ours.
void PluginFollower::on_folder_change() {
  PinnedFile socket(options_.kubelet_socket);
  const bool restarted = socket.exists() && !socket.same(kubelet_socket_);
  kubelet_socket_ = std::move(socket);
  const auto now = parts_.clock.now();
  if (!restarted) return plugins_->check_sockets(now);
  parts_.log.info("kubelet was restarted; serving and registering anew");
  plugins_->follow_kubelet(
      [this](const std::string& resource) { return tried_with_this_kubelet(resource); }, now);
}

}  // namespace tranche::agent
