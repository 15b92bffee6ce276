#pragma once
// The worker processes of one run, from their start to their reports, and the user's interrupts: at
// the first (SIGINT, SIGTERM, SIGHUP) all workers are told to stop, at one a second later or more
// they are killed.
// One workers at a time, on the main thread of a process without other threads; no worker outlives
// it.

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "load/load.h"

namespace tranche::load {

// What a worker is started in, beside what it inherits.
struct Surroundings {
  std::vector<std::string> set;    // "NAME=VALUE"
  std::vector<std::string> unset;  // names
  // A tenant's folder, all that this worker finds below /run/tranche; empty: what there is.
  std::string tenant;
};

struct Ready {
  DeviceInfo device;
  Bytes memory;  // held
};

class WorkerGroup {
 public:
  using Id = std::size_t;

  static Result<std::unique_ptr<WorkerGroup>> make();
  WorkerGroup(const WorkerGroup&) = delete;
  WorkerGroup& operator=(const WorkerGroup&) = delete;
  ~WorkerGroup();

  Result<Id> start(const Load& load, const Surroundings& surroundings);
  // Until the worker has its memory and its kernels. kNotFound: no driver or no such device;
  // kUnavailable: it was refused something, or it ended.
  Result<Ready> ready(Id worker);
  void go(Id worker);
  void tell_to_stop(Id worker);
  void kill(Id worker);
  // Until the worker has ended. One that could not say how it went has an error that does.
  Report report(Id worker);

  // An interrupt ends it early.
  void sleep(nanoseconds time);
  bool is_interrupted() const { return interrupted_.has_value(); }
  pid_t pid(Id worker) const { return workers_[worker]->pid; }

 private:
  struct Worker {
    std::string name;
    pid_t pid = -1;
    int input = -1;   // write end of its standard input
    int output = -1;  // read end of its standard output
    std::string buffer;
    std::string end;  // "killed by signal 9", once it was waited for
  };

  explicit WorkerGroup(int signals) : signals_(signals) {}
  // The next line it says; kUnavailable when it ended instead.
  Result<Json> listen(Worker& worker);
  // False: `fd` has nothing within the time (negative: for ever), but an interrupt came or time is
  // up.
  bool wait(int fd, nanoseconds time);
  void take_interrupt();
  void reap(Worker& worker);

  int signals_;
  std::optional<std::chrono::steady_clock::time_point> interrupted_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace tranche::load
