#include "nvml/deadline_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace tranche::nvml {

using TimePoint = std::chrono::steady_clock::time_point;

// Shared::mutex guards all members except `progress`.
struct DeadlinePool::Job {
  enum class State { kQueued, kRunning, kFinished, kGivenUp };
  Task task;
  std::shared_ptr<std::size_t> open;  // how many jobs of the same run are neither done nor given up
  State state = State::kQueued;
  TimePoint started{};
  Progress progress;
};

struct DeadlinePool::Shared {
  mutable std::mutex mutex;
  std::condition_variable work_ready;  // the threads wait for it
  std::condition_variable changed;     // the callers wait for it
  std::deque<std::shared_ptr<Job>> queue;
  std::map<std::string, std::shared_ptr<Job>> stuck;
  std::size_t threads = 0;
  std::size_t idle = 0;
  bool stopping = false;
};

// One call of run(): its jobs, and when one of them last entered a call. Used under the mutex.
class DeadlinePool::Batch {
 public:
  Batch(const Options& options, std::shared_ptr<Shared> shared)
      : options_(options), shared_(std::move(shared)) {}

  void submit(std::vector<Task> tasks) {
    for (auto& task : tasks) {
      const auto stuck = shared_->stuck.find(task.key);
      if (stuck != shared_->stuck.end()) {
        slots_.push_back({.job = stuck->second, .old = true});
        continue;
      }
      auto job = std::make_shared<Job>();
      job->task = std::move(task);
      job->open = open_;
      ++*open_;
      shared_->queue.push_back(job);
      slots_.push_back({.job = std::move(job)});
    }
    moved_ = std::chrono::steady_clock::now();
  }

  bool settled() const { return *open_ == 0; }

  // Gives up stuck jobs, starts a thread when no job makes progress, and returns when to look
  // again.
  TimePoint look(TimePoint now) {
    TimePoint next = now + options_.deadline;
    for (const auto& slot : slots_) {
      if (slot.old || slot.job->state != Job::State::kRunning) continue;
      const auto since = slot.job->progress.since();
      moved_ = std::max(moved_, since);
      const auto limit =
          std::min(since + options_.deadline, slot.job->started + 3 * options_.deadline);
      if (now < limit) {
        next = std::min(next, limit);
        continue;
      }
      give_up(*slot.job);
      shared_->stuck[slot.job->task.key] = slot.job;
    }
    if (!waiting()) return next;
    if (now >= moved_ + options_.stall) relieve(now);
    return std::min(next, moved_ + options_.stall);
  }

  std::vector<Outcome> outcomes() const {
    std::vector<Outcome> outcomes;
    for (const auto& slot : slots_) {
      if (!slot.old && slot.job->state == Job::State::kFinished) {
        outcomes.push_back({.finished = true});
      } else {
        outcomes.push_back({.finished = false, .hung_in = slot.job->progress.call()});
      }
    }
    return outcomes;
  }

 private:
  struct Slot {
    std::shared_ptr<Job> job;
    bool old = false;  // a stuck job of an earlier run with the same key: not started again
  };

  bool waiting() const {
    return std::ranges::any_of(
        slots_, [](const Slot& slot) { return slot.job->state == Job::State::kQueued; });
  }

  void give_up(Job& job) {
    job.state = Job::State::kGivenUp;
    --*open_;
  }

  void relieve(TimePoint now) {
    moved_ = now;
    if (add_thread(shared_) || shared_->stuck.size() < shared_->threads) return;
    // All threads are stuck and no more can be started, so nothing will run the waiting jobs.
    for (const auto& slot : slots_) {
      if (slot.job->state != Job::State::kQueued) continue;
      std::erase(shared_->queue, slot.job);
      give_up(*slot.job);
    }
  }

  Options options_;
  std::shared_ptr<Shared> shared_;
  std::shared_ptr<std::size_t> open_ = std::make_shared<std::size_t>(0);
  std::vector<Slot> slots_;
  TimePoint moved_{};
};

std::string DeadlinePool::Outcome::describe_hang(std::chrono::milliseconds deadline) const {
  return fmt::format("{} has not returned within {} ms", hung_in, deadline.count());
}

DeadlinePool::DeadlinePool(Options options)
    : options_(options), shared_(std::make_shared<Shared>()) {}

DeadlinePool::~DeadlinePool() {
  std::unique_lock lock(shared_->mutex);
  shared_->stopping = true;
  shared_->work_ready.notify_all();
  shared_->changed.wait_for(lock, options_.deadline,
                            [&] { return shared_->threads <= shared_->stuck.size(); });
}

bool DeadlinePool::add_thread(const std::shared_ptr<Shared>& shared) {
  if (shared->threads >= kMaxThreads) return false;
  try {
    std::thread([shared] { work(shared); }).detach();
  } catch (const std::system_error&) {
    return false;  // the system gives no more threads
  }
  ++shared->threads;
  return true;
}

void DeadlinePool::work(const std::shared_ptr<Shared>& shared) {
  std::unique_lock lock(shared->mutex);
  // One idle thread stays for the next run. Others, left over from a hang, end.
  while (!shared->stopping && (shared->idle == 0 || !shared->queue.empty())) {
    ++shared->idle;
    shared->work_ready.wait(lock, [&] { return shared->stopping || !shared->queue.empty(); });
    --shared->idle;
    if (shared->queue.empty()) continue;
    const auto job = std::move(shared->queue.front());
    shared->queue.pop_front();
    job->state = Job::State::kRunning;
    job->started = std::chrono::steady_clock::now();
    job->progress.enter("start");
    lock.unlock();
    job->task.work(job->progress);
    job->task.work = nullptr;  // destroys what the task captured while the lock is not held
    lock.lock();
    finish(*shared, *job);
  }
  --shared->threads;
  shared->changed.notify_all();
}

void DeadlinePool::finish(Shared& shared, Job& job) {
  if (job.state == Job::State::kGivenUp) {
    shared.stuck.erase(job.task.key);
    return;
  }
  job.state = Job::State::kFinished;
  if (--*job.open == 0) shared.changed.notify_all();
}

std::vector<DeadlinePool::Outcome> DeadlinePool::run(std::vector<Task> tasks) {
  Batch batch(options_, shared_);
  std::unique_lock lock(shared_->mutex);
  batch.submit(std::move(tasks));
  if (!batch.settled() && shared_->idle == 0) add_thread(shared_);
  shared_->work_ready.notify_one();
  while (!batch.settled()) {
    const auto next = batch.look(std::chrono::steady_clock::now());
    if (!batch.settled()) shared_->changed.wait_until(lock, next);
  }
  return batch.outcomes();
}

DeadlinePool::Outcome DeadlinePool::run(Task task) {
  std::vector<Task> one;
  one.push_back(std::move(task));
  return std::move(run(std::move(one)).front());
}

std::size_t DeadlinePool::stuck() const {
  const std::scoped_lock lock(shared_->mutex);
  return shared_->stuck.size();
}

}  // namespace tranche::nvml
