#pragma once
// A worker is one part of a controller's work. It begins when it is made and ends when it is
// destroyed. Each concern (the policy, evictions; later admission, metrics) is one worker in a file
// of its own, which gives a WorkerPlan, and one line in the list of run.cpp. WorkerSet starts and
// ends the workers.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "cluster/objects.h"

namespace tranche::controller {

class Worker {
 public:
  virtual ~Worker() = default;
  // Why the worker cannot work at the moment; nullopt: it can. Called from another thread than the
  // worker's.
  virtual std::optional<std::string> trouble() const = 0;
};

// The references outlive the worker.
struct WorkerContext {
  cluster::Objects& objects;
  const Clock& clock;
  const Log& log;
  // How much longer the worker may write. Nothing is begun when the time is over. Empty: for ever.
  std::function<std::chrono::milliseconds()> time_left = {};
};

// A call that ends after `longest`, or when the worker may no longer write. `time_left`: the
// context's. kUnavailable: the time is over.
Result<cluster::Call> call_while_leading(
    std::chrono::milliseconds longest, const std::function<std::chrono::milliseconds()>& time_left,
    const std::stop_token& stop);

// WorkerPlan::start of a worker whose Options have `time_left`.
template <class OneWorker>
auto starter(typename OneWorker::Options options) {
  return [options = std::move(options)](const WorkerContext& context) -> std::unique_ptr<Worker> {
    auto own = options;
    own.time_left = context.time_left;
    return std::make_unique<OneWorker>(context.objects, std::move(own), context.clock, context.log);
  };
}

struct WorkerPlan {
  std::string name;
  // Whether two controllers that do this work at once would overwrite each other's results.
  bool needs_leadership = true;
  std::string purpose;  // for the log, when the process starts
  std::function<std::unique_ptr<Worker>(const WorkerContext&)> start;
};

}  // namespace tranche::controller
