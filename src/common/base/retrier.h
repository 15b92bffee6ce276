#pragma once
// Retries jobs until they succeed, on its own thread. It waits between attempts (1 s, 2 s, ... up
// to 30 s). So a kubelet or an API server that is down or hangs never blocks the agent's loop. A
// failure is logged once until its text changes.
//
// Each job has a key. A new job replaces the job under its key. If the new job has the same aim
// (Job::aim) as a job waiting after a failure, the wait continues: a caller that requests on every
// change of an object, which may change every few seconds, must not turn the back-off into a stream
// of attempts.

#include <chrono>
#include <condition_variable>
#include <cstdint>
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

namespace tranche {

class Retrier {
 public:
  struct Job {
    std::string key;
    // Makes one attempt. It may block for seconds, but must end soon after a stop request.
    std::function<Result<void>(const std::stop_token&)> attempt;
    std::string done;  // text to log after success; empty: log nothing
    // The job's goal. A job with the same aim as the one waiting under its key inherits its
    // back-off. Empty: never inherits.
    std::string aim = {};
  };

  explicit Retrier(const Log& log) : Retrier(log, Backoff()) {}
  Retrier(const Log& log, Backoff backoff);
  ~Retrier();
  Retrier(const Retrier&) = delete;
  Retrier& operator=(const Retrier&) = delete;

  // Tries the job at once, with a fresh back-off. If a job with the same aim failed and is
  // waiting, the new job is tried at that job's time. If an attempt with the same aim is
  // under way, the job is tried once more after it: that attempt may have started with stale
  // facts.
  void request(Job job);
  // Drops the job under `key`, which is no longer wanted.
  void forget(const std::string& key);

 private:
  using Clock = std::chrono::steady_clock;
  struct Pending {
    Job job;
    Clock::time_point due;
    Backoff backoff;
    std::uint64_t generation;

    bool has_aim_of(const Pending& other) const {
      return !job.aim.empty() && job.aim == other.job.aim;
    }
  };

  void run(const std::stop_token& stop);
  std::optional<Pending> next(const std::stop_token& stop);
  void settle(const Pending& tried, const Result<void>& result);

  const Log& log_;
  Backoff backoff_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<std::string, Pending> pending_;        // by key
  std::map<std::string, std::string> complaint_;  // last failure logged, by key
  std::uint64_t generation_ = 0;
  std::jthread thread_;
};

}  // namespace tranche
