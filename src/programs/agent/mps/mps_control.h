#pragma once
// Reactions of the supervisor of MPS control daemons to changes of configuration and hardware, to
// the agent's request to make way for a change of a MIG layout, and to time: plans from the offer,
// and has the daemons follow the plan. Used by one thread, which waits for the program's calls and
// the driver. Waiting for events is in run_mps_control.cpp.

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "agent/config/config_follower.h"
#include "agent/mps/mps_daemon.h"
#include "agent/mps/mps_pause.h"
#include "agent/mps/mps_rules.h"
#include "agent/mps/mps_supervisor.h"
#include "agent/node/node_reporter.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/said_once.h"
#include "gpu/reader.h"
#include "offer/offer.h"

namespace tranche::agent {

class MpsControl {
 public:
  // How often logs are passed on and requests for GPUs are looked for.
  static constexpr std::chrono::milliseconds kLogInterval{500};

  struct Ports {
    ConfigFollower& config;
    gpu::Reader& reader;
    const MpsTools& tools;
    MpsPause& pause;
    std::function<void(const NodeNotice&)> tell;  // records an Event of the Node
    const Clock& clock;
    const Log& log;
  };

  // `ask_interval`: how often each daemon is asked whether it lives.
  MpsControl(Ports ports, std::chrono::milliseconds ask_interval);

  // Ends an earlier supervisor's daemons, reads the hardware, and starts the configured daemons.
  void begin();
  void on_config_change();
  void on_reading(Result<gpu::Machine> machine);
  // A process that may have been a daemon has ended.
  void on_orphan() { supervisor_.suspect(ports_.clock.now()); }
  void on_turn();
  std::chrono::milliseconds longest_sleep() const;

  // The last reading; without GPUs before the first.
  gpu::Machine machine() const { return machine_.value_or(gpu::Machine()); }

 private:
  void end_left_behind();
  void heed_pause();
  void resume();
  bool look_at_open();
  void plan();
  void say(const offer::Offer& offer);

  Ports ports_;
  MpsSupervisor supervisor_;
  MpsRules rules_;
  bool cleaned_ = false;  // an earlier supervisor's daemons are ended
  std::optional<std::chrono::steady_clock::time_point> config_due_;  // as in the agent
  std::optional<gpu::Machine> machine_;
  std::set<std::string> open_;  // mps::read_open()
  SaidOnce said_;
};

}  // namespace tranche::agent
