#pragma once
// The device plugins as a follower: serves each resource of the offer to kubelet and registers it,
// again after kubelet was restarted or our sockets are gone.

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "agent/loop/follower.h"
#include "agent/plugins/cdi_publisher.h"
#include "agent/plugins/plugin_set.h"
#include "agent/plugins/registrar.h"
#include "base/pinned_file.h"
#include "base/watch.h"
#include "process/handover.h"
#include "process/loop.h"

namespace tranche::agent {

struct PluginEvent {
  enum class Kind {
    kRegistered,  // kubelet took the registration
    kRefused,     // kubelet asked for an id that is not offered
    kSocketLost,  // another process put its socket in the place of ours
  };
  Kind kind = Kind::kRegistered;
  std::string resource;
  std::string detail{};  // kRefused: the answer
  bool operator==(const PluginEvent&) const = default;
};

class PluginFollower final : public Follower {
 public:
  // One attempt to register with the kubelet behind the pinned socket.
  using Register = std::function<Result<void>(const Registrar::Request&, const PinnedFile& kubelet,
                                              const std::stop_token&)>;
  struct Options {
    std::filesystem::path dir;             // <kubelet root>/device-plugins
    std::filesystem::path kubelet_socket;  // empty: resources are served and not registered
    bool take_over = false;
  };
  struct Parts {
    Register register_plugin;
    deviceplugin::Resource::Store store;  // records each grant
    const CdiPublisher& cdi;              // follows before this one
    process::Loop& loop;
    const Clock& clock;
    const Log& log;
  };

  PluginFollower(Options options, Parts parts);
  ~PluginFollower() override;

  Result<void> follow(const Round& round) override;
  Phase phase() const override { return Phase::kHandOut; }
  void restart(TimePoint now) override { plugins_->restart(now); }
  void tick(TimePoint now) override;
  void renew_checkpoint() override { plugins_->resend(); }
  std::optional<TimePoint> next_tick() const override { return plugins_->next_tick(); }
  std::string trouble() const override;

  bool registers() const { return registrar_ != nullptr; }
  // Whether the kubelet that runs now has accepted the registration.
  bool is_registered(const std::string& resource);
  // PluginSet::register_again() and socket_trouble().
  void register_again(const std::string& resource) { plugins_->register_again(resource); }
  std::string socket_trouble(const std::string& resource) const {
    return plugins_->socket_trouble(resource);
  }
  // In order, since the last call; beyond a bound the oldest are lost.
  std::vector<PluginEvent> take_events() { return std::exchange(events_, {}); }

  // Before the first round. Replaces the agent that hands over, and keeps kubelet's connections to
  // that one open: kubelet drops a resource when any connection for it ends. `served` is called
  // when kubelet has accepted every registration.
  void inherit(std::vector<process::NamedDescriptor> connections, std::function<void()> served);
  // From now on this agent reads kubelet's requests on these connections.
  Result<void> predecessor_ended() override;
  // Copies of kubelet's connections to this agent and its predecessors, by socket.
  std::vector<process::NamedDescriptor> handed_over() const override;

 private:
  // From any thread.
  void post(PluginEvent event);
  void start_registrar();
  Result<void> register_pinned(const Registrar::Request& request, const std::stop_token& stop);
  bool tried_with_this_kubelet(const std::string& resource);
  void watch_folder();
  void on_folder_change();
  void look_whether_served();
  void on_kept_readable(int fd);
  void drop_kept_of_nobody();

  Options options_;
  Parts parts_;
  std::vector<std::string> wanted_;  // to be served
  std::vector<PluginEvent> events_;
  PinnedFile kubelet_socket_;
  // The kubelet (its socket) with which each resource is registered or being registered. Written by
  // the registrar's thread.
  struct Tried {
    std::shared_ptr<const PinnedFile> kubelet;
    bool done = false;
  };
  std::mutex tried_mutex_;
  std::map<std::string, Tried> tried_with_;
  std::vector<process::NamedDescriptor> kept_;
  std::function<void()> served_;          // empty: no handover
  std::unique_ptr<Registrar> registrar_;  // before plugins_, which refers to it
  std::optional<PluginSet> plugins_;
  bool followed_ = false;  // wanted_ is known
  bool watched_ = false;
  std::optional<Watch> folder_;  // nullopt: the folder cannot be watched
};

}  // namespace tranche::agent
