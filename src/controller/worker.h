#pragma once
// A part of what a controller does: a worker begins when it is made and ends when it is destroyed.
// What is one concern (the policy, evictions; later admission, metrics) is one worker in a file of
// its own, which gives a WorkerPlan, and one line in the list of run.cpp; who starts and ends it,
// and when, is WorkerSet's.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "cluster/objects.h"

namespace tranche::controller {

class Worker {
 public:
  virtual ~Worker() = default;
  // Why it cannot do its work at the moment; nullopt: it can. Called by another thread than its
  // own.
  virtual std::optional<std::string> trouble() const = 0;
};

// The references outlive the worker.
struct WorkerContext {
  cluster::Objects& objects;
  const Clock& clock;
  const Log& log;
  // How much longer it may write; nothing is begun when it is over. Empty: for ever.
  std::function<std::chrono::milliseconds()> time_left = {};
};

// A call that ends in `longest`, or when the worker may write no longer. `time_left`: the
// context's. kUnavailable: nothing may be begun any more.
Result<cluster::Call> call_while_leading(
    std::chrono::milliseconds longest, const std::function<std::chrono::milliseconds()>& time_left,
    const std::stop_token& stop);

struct WorkerPlan {
  std::string name;
  // Whether two controllers that do it at once would write over each other.
  bool needs_leadership = true;
  std::string purpose;  // for the log, when the process starts
  std::function<std::unique_ptr<Worker>(const WorkerContext&)> start;
};

}  // namespace tranche::controller
