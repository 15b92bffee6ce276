#pragma once
// Keeps NVML initialised while the driver may vanish, be replaced and return.
//
// A Session is one nvmlInit. When its last owner releases it, NVML is shut down and the library is
// unloaded. Handles (devices, event sets) belong to a Session and are invalid after it, so an NVML
// caller holds the Session during the call. A Connection makes one Session after another. A
// process's Reader and EventSource share a Connection, because NVML only reinitialises after every
// user in the process has released it.
//
// Both classes are thread-safe. A Connection exists even without a driver.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/fs.h"
#include "base/log.h"
#include "base/result.h"
#include "nvml/calls.h"
#include "nvml/deadline_pool.h"
#include "nvml/library.h"

namespace tranche::nvml {

// NVIDIA's messages for an NVML that does not start and for a missing library. Errors of
// Connection::session() begin with them.
inline constexpr std::string_view kInitFailed = "nvml init failed: ";
inline constexpr std::string_view kNoLibrary = "nvml init failed: ERROR_LIBRARY_NOT_FOUND: ";

struct Options {
  // The driver's root as this process sees it (NVIDIA's containerDriverRoot, "/driver-root").
  std::filesystem::path driver_root;
  FsRoot host;  // for sysfs and /proc/driver
  // The longest duration of one NVML call. After that its device counts as unknown.
  std::chrono::milliseconds deadline{5000};
  // While a GPU is lost, NVML is restarted: only at initialisation it finds GPUs that returned.
  // This is the wait before the first restart; later waits grow.
  std::chrono::milliseconds restart_interval{30'000};
  // How long one wait for events stays in NVML. A restart, and process exit, may have to wait for
  // it.
  std::chrono::milliseconds event_slice{250};
  const Log* log = nullptr;  // may be null; must outlive the Connection
};

// Counts the existing Sessions, so that a new one can wait until the old ones have ended.
struct SessionCount {
  std::mutex mutex;
  std::condition_variable changed;
  int open = 0;
};

class Session {
 public:
  // Calls NVML, so call it only on a pool thread. kUnavailable, with NVML's own message and what to
  // do.
  static Result<std::shared_ptr<Session>> open(std::shared_ptr<const Library> library,
                                               std::shared_ptr<SessionCount> count,
                                               Progress& progress);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const Api& api() const { return library_->api(); }
  const Library& library() const { return *library_; }
  // keep(): the session frees it when it ends. release(): frees it now, and only once.
  void keep(EventSet set);
  void release(EventSet set);
  void keep(GpmSample sample);
  void release(GpmSample sample);

 private:
  Session(std::shared_ptr<const Library> library, std::shared_ptr<SessionCount> count);

  std::shared_ptr<const Library> library_;
  std::shared_ptr<SessionCount> count_;
  std::mutex mutex_;
  std::vector<EventSet> event_sets_;
  std::vector<GpmSample> gpm_samples_;
};

class Connection {
 public:
  static std::shared_ptr<Connection> make(Options options);
  ~Connection();

  // The current session, or a new one. kUnavailable: no library or no driver; kTimeout: NVML hangs.
  // While release_driver() is in effect, waits up to kLongestPause, or is refused (kUnavailable).
  Result<std::shared_ptr<Session>> session();
  // The same, with a session of the driver that is there now: the library may have been replaced.
  Result<std::shared_ptr<Session>> session_of_present_driver();
  // The current session; null if there is none. Does not call NVML.
  std::shared_ptr<Session> current() const;
  bool in_force(const Session* session) const;
  // Ends the current session, so that the next session() reinitialises NVML. That call gives the
  // owners of the old session up to 2 s (at most half the deadline) to release it.
  void restart();

  // Ends the current session and waits until its owners have released it, so that this process has
  // no GPU open, as a reset requires. No session starts until the result is released. kTimeout: an
  // owner keeps the session, because a call hangs.
  enum class Meanwhile { kWait, kRefuse };  // what session() does meanwhile
  Result<std::shared_ptr<void>> release_driver(Meanwhile meanwhile = Meanwhile::kWait);
  static constexpr std::chrono::seconds kLongestPause{60};

  DeadlinePool& pool() { return pool_; }
  const Options& options() const { return options_; }
  void log(LogLevel level, const std::string& message) const;

 private:
  explicit Connection(Options options);
  void announce(const Library& library);
  Result<std::shared_ptr<Session>> open_session();

  Options options_;
  std::shared_ptr<SessionCount> count_ = std::make_shared<SessionCount>();
  DeadlinePool pool_;
  mutable std::mutex mutex_;
  std::shared_ptr<Session> session_;
  std::vector<std::string> announced_;  // missing functions already logged

  // Shared with what release_driver() returns, which may outlive the connection.
  struct Pauses {
    std::mutex mutex;
    std::condition_variable changed;
    int held = 0;      // by release_driver()
    int refusing = 0;  // of these: kRefuse
    int opening = 0;   // sessions about to start
  };
  std::shared_ptr<Pauses> pauses_ = std::make_shared<Pauses>();
};

// What the user can do when nvmlInit returns `result`.
std::string start_remedy(Return result);

}  // namespace tranche::nvml
