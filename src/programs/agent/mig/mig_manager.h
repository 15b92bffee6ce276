#pragma once
// The manager of MIG layouts on a node. In each step the observer reads the facts
// (agent/mig/mig_observer.h), next_move() decides (agent/mig/mig_machine.h), the executor acts
// (agent/mig/mig_executor.h), and the announcer reports on the Node (agent/mig/mig_announcer.h).
//
// One thread calls turn() repeatedly (MigFollower's); it waits for NVML, kubelet and the API
// server. The other functions may be called from any thread and never wait.

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "agent/holdings/book.h"
#include "agent/loop/state.h"
#include "agent/mig/mig_announcer.h"
#include "agent/mig/mig_executor.h"
#include "agent/mig/mig_machine.h"
#include "agent/mig/mig_observer.h"
#include "agent/mig/mig_view.h"
#include "base/clock.h"
#include "base/log.h"
#include "mig/apply.h"

namespace tranche::agent {

class MigManager {
 public:
  struct Options {
    std::filesystem::path state_dir;
    std::string config_file;  // of mig-parted; "": none
    MigSettings settings;
    std::string own_pod;  // "namespace/name"; "": not known
    mig::Retries retries = {};
  };
  // For their purpose, and which may be empty, see the parts.
  struct Ports {
    gpu::MigControl& control;
    gpu::GpuReset& reset;
    cluster::PodResources& kubelet;
    HolderAnswers& holders;
    Book& book;
    std::function<std::vector<cluster::ObjectKey>(const cluster::ObjectKey& claim)> users_of_claim =
        {};
    // The Node as the API server has it; kUnavailable: not known.
    std::function<Result<cluster::Node>()> node;
    std::function<bool(const NodeWriter::Change&, const cluster::Call&)> write;
    std::function<std::string()> boot;  // this boot's id
    std::function<mig::DeviceUsers(const gpu::Gpu& gpu, std::optional<int> instance)> users = {};
    std::function<Result<std::shared_ptr<void>>(const MigQuiet&, const std::stop_token&)> quiet =
        {};
    std::function<std::optional<std::vector<cluster::Pod>>()> pods = {};
    std::function<void()> read_hardware;
    std::function<void()> look_again;
    std::function<void()> renew_checkpoint;
    std::function<void(const NodeNotice&)> tell = {};
    std::function<void(const ConditionReport&)> report = {};
    const Clock& clock;
    const Log& log;
  };

  MigManager(Options options, Ports ports);

  // Does what can be done now. Returns the time until the next call.
  std::chrono::milliseconds turn(const std::stop_token& stop);

  void follow(MigView view);
  MigStanding standing(const gpu::Machine& machine) const { return executor_.standing(machine); }
  // What it does, for people; empty: nothing.
  std::string remark() const { return announcer_.remark(); }

 private:
  bool restore();
  // Makes one decision. False: nothing to do now.
  bool step(const std::stop_token& stop);
  bool decide(const std::stop_token& stop);
  bool publish(const std::stop_token& stop);
  std::shared_ptr<const MigView> view() const;

  MigSettings settings_;
  std::function<Result<cluster::Node>()> node_;
  MigObserver observer_;
  MigExecutor executor_;
  MigAnnouncer announcer_;

  mutable std::mutex mutex_;
  std::shared_ptr<const MigView> view_;  // guarded by mutex_; null before the first round
};

}  // namespace tranche::agent
