#pragma once
// The node agent is one loop. It makes a new offer whenever configuration, hardware or health
// change, and has followers act on it: device plugins, CDI files, labels and so on.
//
//     inputs (any thread) ──> State ──> stages: (State, Offer) -> Offer ──> followers, a list
//
// The loop runs on the thread that calls run() and never waits for hardware, kubelet or the API
// server. HardwareWatch reads the hardware and XidWatch listens for XIDs, each on its own thread;
// followers use threads of their own for what may take long. After a first good reading no hardware
// trouble ends the agent. It knows its parts only as a list (agent/followers.h).

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/config/config_follower.h"
#include "agent/followers.h"
#include "agent/hardware/hardware_watch.h"
#include "agent/hardware/xid_watch.h"
#include "agent/mig_profiles.h"
#include "agent/node/agent_status.h"
#include "agent/node/node_turn.h"
#include "agent/rounds.h"
#include "agent/succession.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/said_once.h"
#include "base/watch.h"
#include "gpu/events.h"
#include "gpu/health.h"
#include "gpu/reader.h"
#include "process/change_notifier.h"
#include "process/loop.h"

namespace tranche::agent {

class Agent {
 public:
  struct Ports {
    gpu::Reader& reader;
    gpu::EventSource& events;
    const Clock& clock;
    const Log& log;
    Outside outside;
    // The node lock, and the predecessor's handover. null: neither.
    NodeTurn* turn = nullptr;
    // Empty without a cluster; then nothing is reported to one. Notified when the source or the
    // Node may have changed.
    process::ChangeNotifier* notifier = nullptr;
    std::function<void(const ConfigReport&)> report = {};
    Parts more = {};  // run after the agent's own parts
  };
  struct Settings {
    config::AgentOptions options;
    gpu::XidPolicy xid_policy;
  };

  // `loaded`: what the first read() of `source` returned.
  Agent(Ports ports, Settings settings, ConfigSource& source, config::Loaded loaded);
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // Runs until SIGTERM, SIGINT or SIGQUIT. SIGHUP re-reads everything and registers every resource
  // again. `signals`: a descriptor from open_signals(). Errors, all before anything is advertised:
  // the driver cannot be started and failOnInitError is set, or a required IMEX channel is missing.
  Result<void> run(int signals);

 private:
  using TimePoint = std::chrono::steady_clock::time_point;

  Result<void> start();
  void make_followers();
  void start_watches();
  void stop_watches();
  void hand_over();
  void on_hangup();
  void on_turn();
  std::chrono::milliseconds longest_sleep();
  void on_stuck() const;
  void on_config_change();
  Result<void> take_imex_channels(const config::Config& config);
  void read_host();
  void on_reading(Result<gpu::Machine> machine);
  void take(gpu::Machine machine);
  void reconcile();
  void report_config() const;

  Ports ports_;
  Settings settings_;
  ConfigFollower config_;
  gpu::HealthTracker health_;
  std::optional<TimePoint> health_due_;  // when health next changes without an event
  MigProfiles mig_profiles_;
  std::vector<gpu::GpuUuid> deaf_;  // GPUs whose XIDs cannot be received
  State state_;
  std::optional<ConfigReport> config_report_;  // for the last configuration
  SaidOnce said_;

  AgentStatus status_;
  Succession succession_;
  std::unique_ptr<process::Loop> loop_;
  std::optional<Watch> config_watch_;
  std::optional<TimePoint> config_due_;  // when to look at a file that was being rewritten
  std::optional<Followers> followers_;
  std::optional<Rounds> rounds_;  // of followers_
  // Last: their threads end before the other members are destroyed.
  std::optional<HardwareWatch> hardware_;
  std::optional<XidWatch> xids_;
};

}  // namespace tranche::agent
