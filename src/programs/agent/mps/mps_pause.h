#pragma once
// How the MPS control daemons make way for a change of a MIG layout. The agent asks the supervisor
// by a lock in the daemons' folder (process/driver_lock.h), whose text names the GPUs, one a line.
// The supervisor ends the daemons on them, releases NVML, and starts again when the lock is free.
// The kernel frees locks, so neither waits for a program that is gone.

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "nvml/connection.h"
#include "process/driver_lock.h"

namespace tranche::agent {

inline constexpr const char* kMpsLock = ".driver.lock";
// A daemon that does not end when asked is killed after 10 s.
inline constexpr std::chrono::seconds kLongestMpsRelease{20};

// The agent's side: until the result is released, no MPS control daemon has one of `gpus` and none
// of ours has NVML open. `root`: the daemons' folder; without it there are none. kTimeout: the
// supervisor does not answer, or was killed and left a daemon that nobody ends.
Result<std::shared_ptr<void>> pause_mps(const std::filesystem::path& root,
                                        const std::set<std::string>& gpus,
                                        const std::stop_token& stop,
                                        std::chrono::milliseconds limit = kLongestMpsRelease);

// A daemon that makes way, which ends its clients on all its GPUs.
struct EndingMps {
  std::string resource;
  std::set<std::string> gpus;  // UUIDs
};
// The daemons on one of `gpus` that serve or were left by a killed supervisor.
std::vector<EndingMps> mps_on(const std::filesystem::path& root, const std::set<std::string>& gpus);

// The supervisor's side. Used by one thread.
class MpsPause {
 public:
  MpsPause(const std::filesystem::path& root, std::shared_ptr<nvml::Connection> driver,
           const Log& log)
      : file_(root / kMpsLock), driver_(std::move(driver)), log_(log), user_(file_) {}

  // NVML may be used. False: it is released until then.
  bool begin();
  // The GPUs of a request that is not met yet.
  std::optional<std::set<std::string>> wish();
  // Releases NVML. The daemons have ended.
  void release_driver();
  bool is_on() const { return pause_.has_value(); }
  const std::filesystem::path& file() const { return file_; }

 private:
  void warn_once(const std::string& what);

  std::filesystem::path file_;
  std::shared_ptr<nvml::Connection> driver_;
  const Log& log_;
  process::DriverUser user_;
  std::string warned_;
  // NVML is released while this is held. May be a null pointer with a deleter.
  std::optional<std::shared_ptr<void>> pause_;
};

}  // namespace tranche::agent
