#pragma once
// NVML, initialised, through a driver that may vanish, be replaced and return.
//
// A Session is one nvmlInit: it is shut down, and its library unloaded, with its last owner.
// Handles (devices, event sets) belong to a Session and die with it, so whoever calls NVML holds
// the Session while it does. A Connection makes Sessions one after the other; Reader and
// EventSource of one process share a Connection, because NVML starts afresh only when all of the
// process have let go.
//
// Both are thread-safe. A Connection always exists, with or without a driver.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/fs.h"
#include "base/log.h"
#include "base/result.h"
#include "nvml/calls.h"
#include "nvml/deadline_pool.h"
#include "nvml/library.h"

namespace tranche::nvml {

struct Options {
  // The driver's root as this process sees it (NVIDIA's containerDriverRoot, "/driver-root").
  std::filesystem::path driver_root;
  FsRoot host;  // for sysfs and /proc/driver
  // How long one NVML call may take before its device counts as unknown.
  std::chrono::milliseconds deadline{5000};
  // While a GPU is lost, NVML is started afresh this often: it finds returned GPUs only at start.
  std::chrono::milliseconds restart_interval{30'000};
  // How long one wait for events stays in NVML: a restart and the end of the process wait for it.
  std::chrono::milliseconds event_slice{250};
  const Log* log = nullptr;  // may be null; outlives what is opened with it
};

// Sessions that exist, so that a new one can wait for the old ones to end.
struct SessionCount {
  std::mutex mutex;
  std::condition_variable changed;
  int open = 0;
};

class Session {
 public:
  // Calls NVML: on a thread of the pool only. kUnavailable with NVML's words and the remedy.
  static Result<std::shared_ptr<Session>> open(std::shared_ptr<const Library> library,
                                               std::shared_ptr<SessionCount> count,
                                               Progress& progress);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const Api& api() const { return library_->api(); }
  const Library& library() const { return *library_; }
  // Frees `set` when the session ends, or now. Either way once.
  void keep(EventSet set);
  void release(EventSet set);

 private:
  Session(std::shared_ptr<const Library> library, std::shared_ptr<SessionCount> count);

  std::shared_ptr<const Library> library_;
  std::shared_ptr<SessionCount> count_;
  std::mutex mutex_;
  std::vector<EventSet> event_sets_;
};

class Connection {
 public:
  static std::shared_ptr<Connection> make(Options options);
  ~Connection();

  // The session in force, or a new one. kUnavailable: no library, no driver; kTimeout: it hangs.
  Result<std::shared_ptr<Session>> session();
  // The session in force; null when there is none. Does not call NVML.
  std::shared_ptr<Session> current() const;
  bool in_force(const Session* session) const;
  // Ends the session in force, so that the next session() starts NVML afresh. Holders of the old
  // one have a moment to let go.
  void restart();

  DeadlinePool& pool() { return pool_; }
  const Options& options() const { return options_; }
  void log(LogLevel level, const std::string& message) const;

 private:
  explicit Connection(Options options);
  void announce(const Library& library);

  Options options_;
  std::shared_ptr<SessionCount> count_ = std::make_shared<SessionCount>();
  DeadlinePool pool_;
  mutable std::mutex mutex_;
  std::shared_ptr<Session> session_;
  std::vector<std::string> announced_;  // missing functions already logged
};

// What to do about NVML answering `result` to its start.
std::string start_remedy(Return result);

}  // namespace tranche::nvml
