#pragma once
// The device plugins of this node, one per resource, and how they follow an offer. Only differences
// are applied. A resource with a new list sends it on its open stream. An unchanged one keeps
// socket and registration. A new one is started and registered. A removed one sends an empty list,
// so that kubelet shows 0 at once and not after its grace time, and is stopped a moment later.
//
// Used from the agent's loop only. A server that cannot start (another process answers on its
// socket, the folder is missing) is retried with back-off; the failure is logged once.

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/plugins/registrar.h"
#include "base/backoff.h"
#include "base/log.h"
#include "deviceplugin/server.h"
#include "process/handover.h"

namespace tranche::agent {

class PluginSet {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  struct Options {
    std::filesystem::path dir;  // <kubelet root>/device-plugins
    bool take_over = false;
    bool handed_over = false;  // set_handed_over()
  };

  // Called by a resource on gRPC's threads.
  struct Calls {
    deviceplugin::Resource::Store store;
    deviceplugin::Resource::Refused refused = {};
  };

  // `registrar`: null: resources are served and not registered (--kubelet-socket="").
  PluginSet(Options options, Calls calls, Registrar* registrar, const Log& log);

  void apply(const std::vector<deviceplugin::ResourceState>& wanted, TimePoint now);
  // Serves and registers everything again: SIGHUP.
  void restart(TimePoint now);
  // Handles a restarted kubelet: serves again what lost its socket, and registers the rest, except
  // resources that are `known` to be registered, or being registered, with this kubelet.
  // Registering them again would cut off the Allocate of a Pod that is being admitted.
  void follow_kubelet(const std::function<bool(const std::string& resource)>& known, TimePoint now);
  // Sends kubelet every list again, whereupon it writes its checkpoint.
  void resend();
  // Serves again what lost its socket file: at once, or with back-off if another plugin takes it
  // repeatedly, so that two plugins do not take one socket from each other all the time. A free
  // socket is taken without waiting: the other plugin has ended.
  void check_sockets(TimePoint now);
  // The resources whose socket another one has taken since the last call, once for each time.
  std::vector<std::string> take_taken() { return std::exchange(taken_, {}); }
  // Registers a served resource again, so that kubelet asks this agent and takes its list.
  void register_again(const std::string& resource);
  // Why a resource has no socket; empty: it has one, or there is no such resource.
  std::string socket_trouble(const std::string& resource) const;
  // Does what is due: retries failed starts, stops retired plugins.
  void tick(TimePoint now);
  // When tick() is due.
  std::optional<TimePoint> next_tick() const;

  std::size_t serving() const;

  // While true, sockets are taken over from the agent that hands them over.
  void set_handed_over(bool handed_over) { options_.handed_over = handed_over; }
  // Whether the socket belongs to a plugin, running or being stopped.
  bool has(const std::string& endpoint) const;
  // Registers the resource of that socket again, if it is served.
  void register_again_at(const std::string& endpoint);
  // Copies of kubelet's connections, by socket name.
  std::vector<process::NamedDescriptor> connections() const;

 private:
  struct Plugin {
    std::string endpoint;
    std::unique_ptr<deviceplugin::Resource> resource;
    std::unique_ptr<deviceplugin::Server> server;  // null: not started; waits for retry_at
    TimePoint retry_at{};
    Backoff backoff;
    std::string complaint;  // logged last
    // Another plugin last took the socket at `taken_at`. It is made again at `make_at`, if set;
    // with `if_free` only if nobody has it then.
    std::optional<TimePoint> taken_at;
    std::optional<TimePoint> make_at;
    bool if_free = false;
    bool unreported = false;  // it was lost, and no other plugin has been found there
    Backoff make_again{.first = std::chrono::seconds(1), .longest = std::chrono::minutes(1)};
  };
  struct Retired {
    Plugin plugin;
    TimePoint until;
  };

  void start(const std::string& name, Plugin& plugin, TimePoint now);
  void retire(const std::string& name, Plugin plugin, TimePoint now);
  void serve_anew(const std::string& name, Plugin& plugin, TimePoint now);
  bool is_free(const Plugin& plugin) const;
  void on_lost(const std::string& name, Plugin& plugin, TimePoint now);
  // Another plugin has the socket, or had it until now.
  void on_taken(const std::string& name, Plugin& plugin, TimePoint now);
  void make_later(Plugin& plugin, TimePoint now);
  void make_when_free(Plugin& plugin, TimePoint now);

  // A socket that is taken again within this time is made again with back-off.
  static constexpr std::chrono::minutes kCalm{10};
  // Time within which a plugin that removes a socket takes its place.
  static constexpr std::chrono::milliseconds kFree{100};
  static constexpr std::chrono::seconds kLinger{2};

  Options options_;
  Calls calls_;
  Registrar* registrar_;
  const Log& log_;
  std::map<std::string, Plugin> plugins_;  // by resource name
  std::map<std::string, Retired> retired_;
  std::vector<std::string> taken_;
};

}  // namespace tranche::agent
