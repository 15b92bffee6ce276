#include "agent/plugins/plugin_set.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/file_identity.h"

namespace tranche::agent {

PluginSet::PluginSet(Options options, Calls calls, Registrar* registrar, const Log& log)
    : options_(std::move(options)), calls_(std::move(calls)), registrar_(registrar), log_(log) {}

void PluginSet::apply(const std::vector<deviceplugin::ResourceState>& wanted, TimePoint now) {
  const auto is_wanted = [&](const std::string& name) {
    return std::ranges::any_of(wanted,
                               [&](const auto& state) { return state.offer.name.value == name; });
  };
  for (auto it = plugins_.begin(); it != plugins_.end();) {
    const auto here = it++;
    if (is_wanted(here->first)) continue;
    auto node = plugins_.extract(here);
    retire(node.key(), std::move(node.mapped()), now);
  }
  for (const auto& state : wanted) {
    const auto& name = state.offer.name.value;
    if (const auto found = plugins_.find(name); found != plugins_.end()) {
      found->second.resource->publish(state);
      continue;
    }
    retired_.erase(name);  // frees its socket
    auto& plugin = plugins_[name];
    plugin.endpoint = state.offer.endpoint;
    plugin.resource = std::make_unique<deviceplugin::Resource>(state, calls_.store, calls_.refused);
    start(name, plugin, now);
  }
}

void PluginSet::start(const std::string& name, Plugin& plugin, TimePoint now) {
  plugin.server.reset();
  plugin.make_at.reset();
  auto server = deviceplugin::Server::start({.socket = options_.dir / plugin.endpoint,
                                             .take_over = options_.take_over,
                                             .handed_over = options_.handed_over},
                                            *plugin.resource, log_);
  const bool taken = server ? (*server)->took_over() : server.error().code == Code::kAlreadyExists;
  if (taken && plugin.unreported) on_taken(name, plugin, now);
  if (server) {
    plugin.server = *std::move(server);
    plugin.backoff.reset();
    plugin.complaint.clear();
    if (registrar_ != nullptr) registrar_->request({name, plugin.endpoint});
    return;
  }
  plugin.retry_at = now + plugin.backoff.next();
  if (plugin.complaint == server.error().what) return;
  plugin.complaint = server.error().what;
  log_.error(fmt::format("cannot serve {}: {}; trying again until it works", name,
                         server.error().message()));
}

void PluginSet::retire(const std::string& name, Plugin plugin, TimePoint now) {
  if (registrar_ != nullptr) registrar_->forget(name);
  if (plugin.server == nullptr) return;
  const auto listing = plugin.resource->listing();
  deviceplugin::ResourceState empty;
  empty.offer.name = listing.offer->name;
  empty.offer.base = listing.offer->base;
  empty.offer.endpoint = listing.offer->endpoint;
  plugin.resource->publish(std::move(empty));
  retired_.insert_or_assign(name, Retired{std::move(plugin), now + kLinger});
}

void PluginSet::restart(TimePoint now) {
  retired_.clear();
  for (auto& [name, plugin] : plugins_) start(name, plugin, now);
}

void PluginSet::follow_kubelet(const std::function<bool(const std::string&)>& known,
                               TimePoint now) {
  retired_.clear();
  for (auto& [name, plugin] : plugins_) {
    if (plugin.server == nullptr || !plugin.server->socket_intact()) {
      start(name, plugin, now);
    } else if (registrar_ != nullptr && !known(name)) {
      registrar_->request({name, plugin.endpoint});
    }
  }
}

void PluginSet::resend() {
  for (auto& [name, plugin] : plugins_) plugin.resource->resend();
}

void PluginSet::check_sockets(TimePoint now) {
  for (auto& [name, plugin] : plugins_) {
    const bool free = is_free(plugin);
    // The other process there has gone.
    if (plugin.server == nullptr && free) plugin.retry_at = std::min(plugin.retry_at, now);
    if (plugin.server == nullptr || plugin.server->socket_intact()) continue;
    if (!plugin.make_at) {
      on_lost(name, plugin, now);
    } else if (free && !plugin.if_free) {
      make_when_free(plugin, now);
    }
  }
}

bool PluginSet::is_free(const Plugin& plugin) const {
  return !identify(options_.dir / plugin.endpoint).exists();
}

void PluginSet::on_lost(const std::string& name, Plugin& plugin, TimePoint now) {
  const bool calm = !plugin.taken_at || now - *plugin.taken_at >= kCalm;
  const bool free = is_free(plugin);
  plugin.unreported = true;
  if (!free) on_taken(name, plugin, now);
  if (!calm) return free ? make_when_free(plugin, now) : make_later(plugin, now);
  plugin.make_again.reset();
  serve_anew(name, plugin, now);
}

void PluginSet::on_taken(const std::string& name, Plugin& plugin, TimePoint now) {
  plugin.unreported = false;
  plugin.taken_at = now;
  taken_.push_back(name);
}

void PluginSet::make_later(Plugin& plugin, TimePoint now) {
  plugin.if_free = false;
  plugin.make_at = now + plugin.make_again.next();
}

void PluginSet::make_when_free(Plugin& plugin, TimePoint now) {
  plugin.if_free = true;
  plugin.make_at = now + kFree;
}

void PluginSet::serve_anew(const std::string& name, Plugin& plugin, TimePoint now) {
  log_.info(fmt::format("the socket of {} was removed; serving it anew", name));
  start(name, plugin, now);
}

void PluginSet::register_again(const std::string& resource) {
  const auto found = plugins_.find(resource);
  if (found == plugins_.end() || registrar_ == nullptr) return;
  const auto& plugin = found->second;
  if (plugin.server == nullptr || plugin.make_at) return;  // it must be served first
  registrar_->request({resource, plugin.endpoint});
}

std::string PluginSet::socket_trouble(const std::string& resource) const {
  const auto found = plugins_.find(resource);
  if (found == plugins_.end()) return {};
  if (found->second.server == nullptr) return found->second.complaint;
  const bool waits = found->second.make_at && !found->second.if_free;
  return waits ? "its socket was taken again and again" : "";
}

void PluginSet::tick(TimePoint now) {
  std::erase_if(retired_, [&](const auto& entry) { return entry.second.until <= now; });
  for (auto& [name, plugin] : plugins_) {
    if (plugin.server == nullptr && plugin.retry_at <= now) start(name, plugin, now);
    if (!plugin.make_at || *plugin.make_at > now) continue;
    if (plugin.if_free && !is_free(plugin)) {
      on_taken(name, plugin, now);
      make_later(plugin, now);
    } else {
      serve_anew(name, plugin, now);
    }
  }
}

std::optional<PluginSet::TimePoint> PluginSet::next_tick() const {
  std::optional<TimePoint> next;
  const auto consider = [&](TimePoint at) { next = next ? std::min(*next, at) : at; };
  for (const auto& [name, retired] : retired_) consider(retired.until);
  for (const auto& [name, plugin] : plugins_) {
    if (plugin.server == nullptr) consider(plugin.retry_at);
    if (plugin.make_at) consider(*plugin.make_at);
  }
  return next;
}

bool PluginSet::has(const std::string& endpoint) const {
  const auto is_here = [&](const auto& entry) { return entry.second.endpoint == endpoint; };
  const auto was_here = [&](const auto& entry) { return entry.second.plugin.endpoint == endpoint; };
  return std::ranges::any_of(plugins_, is_here) || std::ranges::any_of(retired_, was_here);
}

void PluginSet::register_again_at(const std::string& endpoint) {
  for (const auto& [name, plugin] : plugins_) {
    if (plugin.endpoint == endpoint) register_again(name);
  }
}

std::vector<process::NamedDescriptor> PluginSet::connections() const {
  std::vector<process::NamedDescriptor> all;
  for (const auto& [name, plugin] : plugins_) {
    if (plugin.server == nullptr) continue;
    for (auto& one : plugin.server->connections()) all.push_back({plugin.endpoint, std::move(one)});
  }
  return all;
}

std::size_t PluginSet::serving() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      plugins_, [](const auto& entry) { return entry.second.server != nullptr; }));
}

}  // namespace tranche::agent
