#pragma once
// A queue of names (of Nodes, of Pods, ...) and one thread that visits them, one at a time. A name
// is due soon after ask(), and again after the time that its last visit returned.
//
// After a failure a name waits (1 s, 2 s, ... up to 30 s) before the next visit. ask() does not
// shorten this: an object that changes every few seconds must not cause a stream of attempts. A
// failure is logged once until its text changes.

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "base/backoff.h"
#include "base/log.h"
#include "base/result.h"
#include "base/said_once.h"

namespace tranche::controller {

class WorkQueue {
 public:
  // When the name is due again; nullopt: at the next ask().
  using Next = std::optional<std::chrono::milliseconds>;
  // May block for seconds, but must end soon after a stop request.
  using Visit = std::function<Result<Next>(const std::string& name, const std::stop_token& stop)>;
  // What the log has of a failure: the name and the error, or the error and how long the waits are.
  enum class Complaint { kWithName, kWithWaits };

  // `log` outlives the queue.
  WorkQueue(const Log& log, const Backoff& backoff, Visit visit,
            Complaint complaint = Complaint::kWithName);
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  // Starts the visits. Call it once, when all that they use exists; earlier calls of ask() count.
  void begin();
  // The following are thread-safe.
  void ask(const std::string& name);
  // Like ask(), but also due at once after a failure, and the waits start again from 1 s. For a
  // name that seldom changes.
  void ask_at_once(const std::string& name);
  // Removes the name. A running visit ends as usual.
  void forget(const std::string& name);
  // Stops the visits and waits for a running one. Later calls have no effect.
  void stop();

 private:
  using Clock = std::chrono::steady_clock;
  struct Turn {
    std::optional<Clock::time_point> due;  // nullopt: not asked for
    bool asked = false;                    // since the visit began
    bool anew = false;                     // the same, by ask_at_once()
    Backoff backoff;
  };

  void run(const std::stop_token& stop);
  std::optional<std::string> wait(const std::stop_token& stop);
  void settle(const std::string& name, const Result<Next>& result);
  void complain(const std::string& name, const Error& error);

  const Log& log_;
  const Backoff backoff_;
  const Visit visit_;
  const Complaint complaint_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  // Guarded by mutex_.
  std::map<std::string, Turn> turns_;
  SaidOnce said_;
  std::jthread thread_;  // from begin(); last: it uses the others
};

}  // namespace tranche::controller
