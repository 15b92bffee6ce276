#pragma once
// Visits names (of Nodes, of pools) one after the other on a thread of its own: soon after somebody
// asked, and again after the time that the last visit gave. After a failure a name waits (1 s, 2 s,
// ... up to 30 s), whoever asks: an object that changes every few seconds does not make a stream of
// attempts. A failure is logged once until its text changes.

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

class Rounds {
 public:
  // When to come again; nullopt: when somebody asks. It may block for seconds, but must end soon
  // after a stop request.
  using Next = std::optional<std::chrono::milliseconds>;
  using Visit = std::function<Result<Next>(const std::string& name, const std::stop_token& stop)>;

  // `log` outlives it.
  Rounds(const Log& log, const Backoff& backoff, Visit visit);
  Rounds(const Rounds&) = delete;
  Rounds& operator=(const Rounds&) = delete;

  // Thread-safe.
  void ask(const std::string& name);
  // Ends the visits, and waits for the one under way. Who asks afterwards asks for nothing.
  void stop();

 private:
  using Clock = std::chrono::steady_clock;
  struct Turn {
    std::optional<Clock::time_point> due;  // nullopt: nobody asks
    bool asked = false;                    // since the visit began
    Backoff backoff;
  };

  void run(const std::stop_token& stop);
  std::optional<std::string> wait(const std::stop_token& stop);
  void settle(const std::string& name, const Result<Next>& result);

  const Log& log_;
  const Backoff backoff_;
  const Visit visit_;
  SaidOnce said_;  // of the thread alone
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<std::string, Turn> turns_;  // guarded by mutex_
  std::jthread thread_;                // last: it uses the others
};

}  // namespace tranche::controller
