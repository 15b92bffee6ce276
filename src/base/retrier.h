#pragma once
// Does what must be done in the end: jobs by key, each tried on a thread of its own until it
// succeeds, with a back-off between attempts (1 s, 2 s, ... up to 30 s); so kubelet or an API
// server that is away or hangs never stops the agent's loop. A failure is logged once until its
// text changes. A new job takes the place of the one under its key. One that is asked for again
// while it waits (Job::aim) goes on waiting: what asks at every change of an object that changes
// every few seconds must not turn the back-off into a stream of attempts.

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
    // One attempt; may block for seconds, but ends soon after a stop request.
    std::function<Result<void>(const std::stop_token&)> attempt;
    std::string done;  // logged after success; empty: nothing is
    // What the job is to bring about. A job with the aim of the one that waits under its key takes
    // over its back-off; empty: it never does.
    std::string aim = {};
  };

  explicit Retrier(const Log& log) : Retrier(log, Backoff()) {}
  Retrier(const Log& log, Backoff backoff);
  ~Retrier();
  Retrier(const Retrier&) = delete;
  Retrier& operator=(const Retrier&) = delete;

  // Tries at once, and again from the first back-off step on; with the aim of a job that failed and
  // waits, when that would have been tried. With the aim of one whose attempt is under way, which
  // may have begun with what is known to be old by now, once more after it.
  void request(Job job);
  // Gives up on what is no longer wanted.
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
