#pragma once
// A thread that runs tasks that may take long, one after another. Each task returns a function that
// the loop then runs.
//
// Only the loop's thread may use post() and the poller.

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "base/descriptor.h"
#include "process/poller.h"

namespace tranche::process {

class TaskThread {
 public:
  // Called by the loop.
  using Done = std::function<void()>;
  // Called on this thread; must not refer to the loop's data.
  using Task = std::function<Done()>;

  // kIo: no eventfd available.
  static Result<std::unique_ptr<TaskThread>> start(Poller& poller);
  // Waits for the running task. Drops waiting tasks, and results that the loop has not run.
  ~TaskThread();
  TaskThread(const TaskThread&) = delete;
  TaskThread& operator=(const TaskThread&) = delete;

  void post(Task task);

 private:
  TaskThread(Poller& poller, Descriptor ready);
  void take_results();
  void run(const std::stop_token& stop);

  Poller& poller_;
  Descriptor ready_;
  std::mutex mutex_;
  std::condition_variable_any posted_;
  // Guarded by mutex_.
  std::deque<Task> waiting_;
  std::deque<Done> done_;
  std::jthread thread_;  // last, because the thread uses all other members
};

}  // namespace tranche::process
