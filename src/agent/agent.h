#pragma once
// The node agent: one loop that makes a new offer whenever configuration, hardware or health
// changed, and has everything downstream follow it.
//
//     inputs (any thread) ──> State ──> stages: (State, Offer) -> Offer ──> followers, a list
//
// The loop runs on the thread that calls run() and never waits for hardware, kubelet or the API
// server: readings come from HardwareWatch, XIDs from XidWatch, and what followers do that may take
// long they do on threads of their own. After a first good reading no hardware trouble ends the
// agent. What the agent does with an offer is the followers' (agent/followers.h): none of them is
// named here.

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "agent/config/config_follower.h"
#include "agent/followers.h"
#include "agent/hardware/hardware_watch.h"
#include "agent/hardware/xid_watch.h"
#include "agent/node/status_file.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/said_once.h"
#include "base/watch.h"
#include "gpu/events.h"
#include "gpu/health.h"
#include "gpu/reader.h"
#include "process/change_notifier.h"
#include "process/loop.h"
#include "process/process_lock.h"

namespace tranche::agent {

class Agent {
 public:
  // The outside, as ports; all outlive the agent.
  struct Ports {
    gpu::Reader& reader;
    gpu::EventSource& events;
    const Clock& clock;
    const Log& log;
    FollowerPorts followers;
    // Of a cluster; without one: null, and nobody is told.
    process::ChangeNotifier* notifier = nullptr;  // the source or the node may say something new
    std::function<void(const ConfigReport&)> report = {};
  };
  struct Settings {
    config::AgentOptions options;
    gpu::XidPolicy xid_policy;
  };

  // `loaded`: what `source`, which outlives the agent, gave when it was read first.
  Agent(Ports ports, Settings settings, ConfigSource& source, config::Loaded loaded);
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // Runs until SIGTERM, SIGINT or SIGQUIT; SIGHUP re-reads everything and registers anew.
  // `signals`: a descriptor from open_signals(). Errors, all before anything is advertised: the
  // driver cannot be started and failOnInitError is set; a required IMEX channel is missing.
  Result<void> run(int signals);

 private:
  using TimePoint = std::chrono::steady_clock::time_point;

  bool take_node_lock(int signals);
  Result<void> start();
  void start_watches();
  // Turns of the loop.
  void on_hangup();
  void on_turn();
  std::chrono::milliseconds longest_sleep();
  void beat();
  std::string trouble() const;
  // Inputs.
  void on_config_change();
  Result<void> take_imex_channels(const config::Config& config);
  void read_host();
  void on_reading(Result<gpu::Machine> machine);
  void take(gpu::Machine machine);
  // The round.
  void reconcile();
  Result<offer::Offer> make_offer();
  Result<void> follow(offer::Offer offer);
  void complain(std::string_view topic, const Error& error, std::string_view consequence);
  TimePoint now() const { return ports_.clock.now(); }

  Ports ports_;
  Settings settings_;
  ConfigFollower config_;
  gpu::HealthTracker health_;
  std::optional<TimePoint> health_due_;  // when health may change by time alone
  std::vector<gpu::GpuUuid> deaf_;       // GPUs whose errors cannot be heard
  State state_;
  // What was followed last.
  struct Followed {
    State state;
    std::shared_ptr<const offer::Offer> offer;
  };
  std::optional<Followed> followed_;
  bool follow_anew_ = false;  // even if nothing differs
  SaidOnce said_;

  StatusFile status_;
  std::unique_ptr<process::ProcessLock> lock_;
  std::unique_ptr<process::Loop> loop_;
  std::optional<Watch> config_watch_;
  std::optional<Followers> followers_;
  std::optional<TimePoint> look_due_;  // when an input is to look again
  // Threads, ended first.
  std::optional<HardwareWatch> hardware_;
  std::optional<XidWatch> xids_;
};

}  // namespace tranche::agent
