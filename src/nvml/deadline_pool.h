#pragma once
// Threads that NVML is called on, so that a call which never returns costs a thread and not the
// agent. run() hands over tasks (one per GPU: one hop for all of a GPU's calls) and comes back when
// each has finished or is stuck in one call for longer than the deadline.
//
// One thread does all the tasks as long as it moves; when it stays in one call for `stall`, another
// thread takes the waiting tasks, so that one hanging GPU delays the others by `stall` and not by
// the deadline. A stuck thread is left where it is, at most kMaxThreads in all, and its task's key
// is not started again until the call has returned.
//
// Threads are detached and share ownership of everything they touch: a task must capture what it
// reads and writes by value or shared_ptr, because after a hang it may go on when the caller is
// long gone. Thread-safe: run() may be called from several threads.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tranche::nvml {

// Where a task is: tells the waiter that it moves, and which call it is in.
class Progress {
 public:
  void enter(const char* call) noexcept {
    call_.store(call, std::memory_order_relaxed);
    since_.store(std::chrono::steady_clock::now(), std::memory_order_release);
  }
  const char* call() const noexcept { return call_.load(std::memory_order_relaxed); }
  std::chrono::steady_clock::time_point since() const noexcept {
    return since_.load(std::memory_order_acquire);
  }

 private:
  std::atomic<const char*> call_{"start"};
  std::atomic<std::chrono::steady_clock::time_point> since_{};
};

class DeadlinePool {
 public:
  struct Options {
    std::chrono::milliseconds deadline{5000};
    std::chrono::milliseconds stall{50};
  };
  struct Task {
    std::string key;  // what must not be asked again while it hangs
    std::function<void(Progress&)> work;
  };
  struct Outcome {
    bool finished = false;
    std::string hung_in;  // the call, when not finished
  };

  explicit DeadlinePool(Options options);
  // Waits for threads that move; leaves stuck ones behind.
  ~DeadlinePool();
  DeadlinePool(const DeadlinePool&) = delete;
  DeadlinePool& operator=(const DeadlinePool&) = delete;

  // In the order of `tasks`. A task whose whole time passes three deadlines counts as stuck too.
  std::vector<Outcome> run(std::vector<Task> tasks);
  Outcome run(Task task);

  // Threads that are inside a call that was given up.
  std::size_t stuck() const;

  static constexpr std::size_t kMaxThreads = 48;

 private:
  struct Job;
  struct Shared;
  class Batch;
  static void work(const std::shared_ptr<Shared>& shared);
  static void finish(Shared& shared, Job& job);
  static bool add_thread(const std::shared_ptr<Shared>& shared);

  Options options_;
  std::shared_ptr<Shared> shared_;
};

}  // namespace tranche::nvml
