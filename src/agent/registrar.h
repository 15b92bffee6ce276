#pragma once
// Keeps resources registered with kubelet: a thread of its own, so that a kubelet that is away or
// hangs never stops the agent's loop. Each resource is tried until it succeeds, waiting 1 s, 2 s,
// ... up to 30 s between attempts; a failure is logged once until its text changes.

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

#include "base/log.h"
#include "base/result.h"

namespace tranche::agent {

class Registrar {
 public:
  struct Request {
    std::string resource;
    std::string endpoint;
  };
  // One attempt; may block for seconds, but ends soon after a stop request.
  using Attempt = std::function<Result<void>(const Request&, const std::stop_token&)>;
  struct Backoff {
    std::chrono::milliseconds first = std::chrono::seconds(1);
    std::chrono::milliseconds longest = std::chrono::seconds(30);
  };

  Registrar(Attempt attempt, const Log& log) : Registrar(std::move(attempt), log, Backoff()) {}
  Registrar(Attempt attempt, const Log& log, Backoff backoff);
  ~Registrar();

  // Registers (again), from the first back-off step on.
  void request(const Request& request);
  // Gives up on a resource that is no longer advertised.
  void forget(const std::string& resource);

 private:
  using Clock = std::chrono::steady_clock;
  struct Pending {
    Request request;
    Clock::time_point due;
    std::chrono::milliseconds wait;
    std::uint64_t generation;
  };

  void run(const std::stop_token& stop);
  std::optional<Pending> next(const std::stop_token& stop);
  void settle(const Pending& tried, const Result<void>& result);

  Attempt attempt_;
  const Log& log_;
  Backoff backoff_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<std::string, Pending> pending_;        // by resource
  std::map<std::string, std::string> complaint_;  // last failure logged, by resource
  std::uint64_t generation_ = 0;
  std::jthread thread_;
};

}  // namespace tranche::agent
