#pragma once
// A worker is one part of the controller's work. It starts when constructed and ends when
// destroyed. It uses the port cluster::Objects and its own threads: as a rule those of its watches
// only notify or queue names, and its WorkQueue's thread does the work. Each has its own pair of
// files, and in run.cpp a function that returns its WorkerPlan, or nullopt if the options do not
// enable it. WorkerSet starts and ends the workers.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "cluster/client/event_recorder.h"
#include "cluster/client/standing_events.h"
#include "cluster/objects.h"
#include "controller/shared_watches.h"

namespace tranche::config {
struct ControllerOptions;
}

namespace tranche::controller {

class Worker {
 public:
  virtual ~Worker() = default;
  // Why the worker cannot work at the moment; nullopt: it can. Thread-safe.
  virtual std::optional<std::string> trouble() const = 0;
};

struct ShareServices;

// What all workers share. The references outlive every copy of it.
struct WorkerContext {
  cluster::Objects& objects;
  const Clock& clock;
  const Log& log;
  SharedWatches& watches;
  std::string instance = {};  // the Events' reporting instance: this Pod's name
  // How much longer the worker may write. At zero nothing is begun. Empty: for ever.
  std::function<std::chrono::milliseconds()> time_left = {};
  // Whether this process leads. Empty: it does.
  std::function<bool()> leads = {};
  Backoff backoff = {};             // between attempts of a worker's queue
  ShareServices* shares = nullptr;  // null: no shares of GPUs are served

  // A call that ends after `longest`, or when the worker may no longer write. kUnavailable: that
  // time has come.
  Result<cluster::Call> call_while_leading(std::chrono::milliseconds longest,
                                           const std::stop_token& stop) const;
  // For the Events of one worker.
  cluster::EventRecorder event_recorder() const;
  cluster::StandingEvents standing_events() const;
};

struct WorkerPlan {
  std::string name;
  // Whether two controllers doing this work at once would overwrite each other's results.
  bool needs_leadership = true;
  std::vector<std::string> purposes;  // for the log, when the process starts: a line for each
  std::function<std::unique_ptr<Worker>(const WorkerContext&)> start;
};

// WorkerPlan::start of a worker that is constructed from the context and its options.
template <class OneWorker>
auto starter(typename OneWorker::Options options) {
  return [options = std::move(options)](const WorkerContext& context) -> std::unique_ptr<Worker> {
    return std::make_unique<OneWorker>(context, options);
  };
}

}  // namespace tranche::controller
