#pragma once
// One MPS control daemon (NVIDIA's nvidia-cuda-mps-control), its folders, and its GPUs' compute
// mode (mps/plan.h): starts it, sets its limits, asks whether it lives, and ends it. Every call of
// the program has a time limit. Used by one thread.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fs.h"
#include "base/log.h"
#include "gpu/control.h"
#include "host/child.h"
#include "mps/plan.h"
#include "mps/protocol.h"
#include "mps/ready_file.h"

namespace tranche::agent {

// What daemons use of the outside.
struct MpsTools {
  // Runs nvidia-cuda-mps-control. `environment`: variables in addition to this process's own.
  std::function<Result<host::ChildEnd>(std::vector<std::string> arguments,
                                       const std::map<std::string, std::string>& environment,
                                       std::string input)>
      control;
  gpu::Control& gpus;
  std::filesystem::path root;                          // "/mps"
  FsRoot host;                                         // for /sys/fs/selinux
  std::function<void(const std::string&)> daemon_log;  // receives the daemons' log lines
  const Log& log;
  // Between two checks whether a starting server is ready.
  std::chrono::milliseconds ready_pause{100};
};

class MpsDaemon {
 public:
  // Sets the GPUs to exclusive mode, makes the folders, starts the program, sets its limits and
  // writes `.started`. Undoes all if a step fails.
  static Result<std::unique_ptr<MpsDaemon>> start(const MpsTools& tools, mps::Daemon daemon);
  // Ends the daemon of a killed supervisor, if any, and frees its GPUs.
  static void end_left_behind(const MpsTools& tools, const config::ResourceName& resource);
  // Removes `.started`, ends the daemon with its clients, and resets its GPUs' compute mode.
  ~MpsDaemon();
  MpsDaemon(const MpsDaemon&) = delete;
  MpsDaemon& operator=(const MpsDaemon&) = delete;

  const mps::Daemon& daemon() const { return daemon_; }
  const offer::MpsService& service() const { return service_; }
  // Asks whether the daemon answers and its server serves. Errors: kUnavailable, kTimeout.
  Result<void> ask() const;
  Result<void> claim_gpus() const;
  // Sets the limits of `wanted`, with the same devices, for it and its servers.
  Result<void> retune(mps::Daemon wanted);
  // Passes new log lines to MpsTools::daemon_log.
  void pass_on_log();

 private:
  MpsDaemon(const MpsTools& tools, mps::Daemon daemon);
  Result<void> begin();
  Result<void> end_leftover();
  Result<void> make_folders() const;
  Result<void> launch() const;
  Result<void> await(const mps::Question& question) const;
  Result<void> make_partitions();
  std::vector<std::string> gpus() const;
  Result<std::string> order(const mps::Order& order) const;
  void quit();
  void kill_remaining() const;
  bool is_ours(const FsRoot& fs, const std::string& pid) const;

  const MpsTools& tools_;
  mps::Daemon daemon_;
  const mps::Protocol& protocol_;
  mps::Paths paths_;
  std::map<std::string, std::string> environment_;
  offer::MpsService service_;
  std::optional<mps::ReadyFile> started_;
  bool runs_ = false;
  std::uintmax_t log_read_ = 0;
};

}  // namespace tranche::agent
