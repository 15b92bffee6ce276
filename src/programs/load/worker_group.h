#pragma once
// The worker processes of one run, from their start to their reports. It also handles the user's
// interrupts (SIGINT, SIGTERM, SIGHUP): the first one tells all workers to stop, another one a
// second later or more kills them.
//
// A process has one WorkerGroup at a time, uses it on its main thread, and has no other threads.
// The destructor kills all workers that still run.

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "load/load.h"

namespace tranche::load {

// What a worker gets in addition to what it inherits.
struct Surroundings {
  std::vector<std::string> set;    // "NAME=VALUE"
  std::vector<std::string> unset;  // names of variables to remove
  // A tenant's folder: the only one that the worker sees below /run/tranche. Empty: the worker sees
  // the same as this process.
  std::string tenant;
};

struct Ready {
  DeviceInfo device;
  Bytes memory;  // that it holds
};

class WorkerGroup {
 public:
  using Id = std::size_t;

  static Result<std::unique_ptr<WorkerGroup>> make();
  WorkerGroup(const WorkerGroup&) = delete;
  WorkerGroup& operator=(const WorkerGroup&) = delete;
  ~WorkerGroup();

  Result<Id> start(const Load& load, const Surroundings& surroundings);
  // Waits until the worker has its memory and its kernels. kNotFound: no driver or no such device;
  // kUnavailable: the driver refused something, or the worker ended.
  Result<Ready> ready(Id worker);
  void go(Id worker);
  void tell_to_stop(Id worker);
  void kill(Id worker);
  // Waits until the worker has ended. If it ended without a report, Report::error says how it
  // ended.
  Report report(Id worker);

  // An interrupt ends the sleep early.
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
    std::string end;  // how it ended ("killed by signal 9"); set once it was waited for
  };

  explicit WorkerGroup(int signals) : signals_(signals) {}
  // Waits for the worker's next line that is a JSON object; kUnavailable: it ended instead.
  Result<std::string> listen(Worker& worker);
  // Waits until `fd` is readable. False: an interrupt came, or `time` is over. Negative: no limit.
  bool wait(int fd, nanoseconds time);
  void take_interrupt();
  void reap(Worker& worker);

  int signals_;
  std::optional<std::chrono::steady_clock::time_point> interrupted_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace tranche::load
