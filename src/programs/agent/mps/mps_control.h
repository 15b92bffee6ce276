#pragma once
// What the supervisor of MPS control daemons does when configuration or hardware change, when the
// agent asks it to make way for a change of a MIG layout, and as time passes: it makes a plan of
// the offer and has the daemons follow it. Used by one thread, which waits for the program's calls
// and for the driver. What waits for events is in run_mps_control.cpp.

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
  // How often logs are passed on, and it is looked whether somebody asks for GPUs.
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

  // All of the ports outlive it. `ask_interval`: how often each daemon is asked whether it lives.
  MpsControl(Ports ports, std::chrono::milliseconds ask_interval);

  // Ends what an earlier supervisor left, reads the hardware, and begins what the configuration
  // wants.
  void begin();
  void on_config_change();
  void on_reading(Result<gpu::Machine> machine);
  // A process that may have been a daemon has ended.
  void on_orphan() { supervisor_.suspect(ports_.clock.now()); }
  // Does what is due.
  void on_turn();
  std::chrono::milliseconds longest_sleep() const;

  // The last reading; without GPUs: none yet.
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
  bool cleaned_ = false;  // what an earlier supervisor left is ended
  std::optional<std::chrono::steady_clock::time_point> config_due_;  // as the agent's
  std::optional<gpu::Machine> machine_;
  std::set<std::string> open_;  // mps::read_open()
  SaidOnce said_;
};

}  // namespace tranche::agent
