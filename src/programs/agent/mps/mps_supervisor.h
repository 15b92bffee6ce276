#pragma once
// Keeps the MPS control daemons of a plan running: starts missing ones with back-off, asks each
// whether it lives, restarts those that do not, and follows a new plan by its difference
// (mps/diff.h). `/mps/.ready` exists while all wanted daemons serve, even if none is wanted, as
// with NVIDIA's mps-control-daemon.
//
// Used by one thread, which waits for the program's calls (seconds at most).

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "agent/mps/mps_daemon.h"
#include "agent/node/node_reporter.h"
#include "base/backoff.h"
#include "mps/plan.h"

namespace tranche::agent {

class MpsSupervisor {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  struct Options {
    std::chrono::milliseconds ask_interval = std::chrono::seconds(10);
    Backoff backoff = {};
  };

  // `tell` receives what people should know of the node.
  MpsSupervisor(const MpsTools& tools, Options options,
                std::function<void(const NodeNotice&)> tell);
  ~MpsSupervisor();
  MpsSupervisor(const MpsSupervisor&) = delete;
  MpsSupervisor& operator=(const MpsSupervisor&) = delete;

  void follow(const mps::Plan& wanted, TimePoint now);
  // Ends the daemons on one of these GPUs, and starts none until release().
  void hold(const std::set<std::string>& gpus);
  bool holds() const { return holds_; }
  // The driver may have lost the compute mode of running daemons' GPUs meanwhile.
  void release(TimePoint now);

  // A process that may have been a daemon has ended: the next tick asks all daemons.
  void suspect(TimePoint now);
  void tick(TimePoint now);
  // When something is due; nullopt: never.
  std::optional<TimePoint> next_tick() const;
  void pass_on_logs();

  std::size_t serving() const;
  mps::Plan plan() const;  // last followed

 private:
  struct Entry {
    mps::Daemon wanted;
    std::unique_ptr<MpsDaemon> daemon;  // null: not running; started at `due`
    TimePoint due{};                    // when it is asked or started
    Backoff backoff{};                  // after its failures
    std::string complaint;              // reported last
  };

  void start(Entry& entry, TimePoint now);
  void ask(Entry& entry, TimePoint now);
  void retune(Entry& entry, const mps::Daemon& wanted, TimePoint now);
  void replace(Entry& entry, const Error& error, std::string_view what, TimePoint now);
  void stop(Entry& entry);
  void failed(Entry& entry, const Error& error, std::string_view what, TimePoint now);
  void mark_ready();

  const MpsTools& tools_;
  Options options_;
  std::function<void(const NodeNotice&)> tell_;
  std::map<config::ResourceName, Entry> entries_;
  bool followed_ = false;  // follow() has been called
  bool holds_ = false;
};

}  // namespace tranche::agent
