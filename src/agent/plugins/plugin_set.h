#pragma once
// The device plugins that run on this node, one per resource, and how they follow an offer: only
// what differs is touched. A resource whose list changed sends the new list on its open stream; one
// that did not change keeps its socket and its registration; a new one is started and registered;
// one that is gone first sends an empty list (so kubelet shows 0 at once, not after its grace time)
// and is stopped a moment later.
//
// Used from the agent's loop only. A server that cannot start (someone answers on its socket, the
// folder is missing) is tried again with back-off; the failure is logged once.

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/plugins/registrar.h"
#include "base/backoff.h"
#include "base/log.h"
#include "deviceplugin/server.h"

namespace tranche::agent {

class PluginSet {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  struct Options {
    std::filesystem::path dir;  // <kubelet root>/device-plugins
    bool take_over = false;
  };

  // `registrar` may be null: serve, and register with nobody (--kubelet-socket="").
  PluginSet(Options options, deviceplugin::Resource::Store store, Registrar* registrar,
            const Log& log);

  void apply(const std::vector<deviceplugin::ResourceState>& wanted, TimePoint now);
  // Serves and registers everything anew: SIGHUP.
  void restart(TimePoint now);
  // kubelet was restarted: serves anew what lost its socket, and registers the rest, but for what
  // `known` says that its registration with this kubelet is done or under way. To register that
  // again would cut off the Allocate of a Pod that kubelet admits just now.
  void follow_kubelet(const std::function<bool(const std::string& resource)>& known, TimePoint now);
  // Serves anew what lost its socket file.
  void check_sockets(TimePoint now);
  // Does what is due by now: starts that failed before, ends of retired plugins.
  void tick(TimePoint now);
  // When tick has something to do.
  std::optional<TimePoint> next_tick() const;

  std::size_t serving() const;

 private:
  struct Plugin {
    std::string endpoint;
    std::unique_ptr<deviceplugin::Resource> resource;
    std::unique_ptr<deviceplugin::Server> server;  // null: waits for retry_at
    TimePoint retry_at{};
    Backoff backoff;
    std::string complaint;  // last failure logged
  };
  struct Retired {
    Plugin plugin;
    TimePoint until;
  };

  void start(const std::string& name, Plugin& plugin, TimePoint now);
  void retire(const std::string& name, Plugin plugin, TimePoint now);

  static constexpr std::chrono::seconds kLinger{2};

  Options options_;
  deviceplugin::Resource::Store store_;
  Registrar* registrar_;
  const Log& log_;
  std::map<std::string, Plugin> plugins_;  // by resource name
  std::map<std::string, Retired> retired_;
};

}  // namespace tranche::agent
