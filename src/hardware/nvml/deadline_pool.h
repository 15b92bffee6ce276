#pragma once
// Runs NVML calls on its own threads, so that a call which never returns costs a thread but does
// not stop the agent. run() takes tasks (one per GPU, with all calls about that GPU) and returns
// when each task has finished or has been in one call for longer than the deadline.
//
// One thread runs all tasks while it makes progress. When it stays in one call for `stall`,
// another thread takes the waiting tasks. So one hanging GPU delays the others by `stall`, not by
// the deadline. A stuck thread stays in its call, and no task with its key starts until that call
// returns. There are at most kMaxThreads threads.
//
// Threads are detached. After a hang a task may outlive its caller, so a task must capture all
// that it reads and writes by value or by shared_ptr. Thread-safe: several threads may call
// run().

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tranche::nvml {

// Tells the waiting thread which call a task is in, and since when.
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
    std::string key;  // while a task hangs, no other task with its key is started
    std::function<void(Progress&)> work;
  };
  struct Outcome {
    bool finished = false;
    std::string hung_in;  // if not finished: the call in which it hangs
    // "nvmlInit_v2 has not returned within 5000 ms"
    std::string describe_hang(std::chrono::milliseconds deadline) const;
  };

  explicit DeadlinePool(Options options);
  // Waits for the threads that make progress. Leaves stuck threads behind.
  ~DeadlinePool();
  DeadlinePool(const DeadlinePool&) = delete;
  DeadlinePool& operator=(const DeadlinePool&) = delete;

  // Outcomes are in the order of `tasks`. A task that takes longer than three deadlines in total
  // counts as stuck too.
  std::vector<Outcome> run(std::vector<Task> tasks);
  Outcome run(Task task);

  // The number of threads stuck in an abandoned call.
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
