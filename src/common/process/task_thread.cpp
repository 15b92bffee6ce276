#include "process/task_thread.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace tranche::process {

Result<std::unique_ptr<TaskThread>> TaskThread::start(Poller& poller) {
  Descriptor ready(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!ready.is_open()) return std::unexpected(errno_error(errno, "eventfd"));
  std::unique_ptr<TaskThread> thread(new TaskThread(poller, std::move(ready)));
  TRY(poller.add(thread->ready_.get(), [t = thread.get()] { t->take_results(); }));
  return thread;
}

TaskThread::TaskThread(Poller& poller, Descriptor ready)
    : poller_(poller),
      ready_(std::move(ready)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

TaskThread::~TaskThread() { poller_.remove(ready_.get()); }

void TaskThread::post(Task task) {
  {
    const std::scoped_lock lock(mutex_);
    waiting_.push_back(std::move(task));
  }
  posted_.notify_one();
}

void TaskThread::take_results() {
  std::uint64_t count = 0;
  (void)!::read(ready_.get(), &count, sizeof(count));
  std::deque<Done> done;
  {
    const std::scoped_lock lock(mutex_);
    done.swap(done_);
  }
  for (const Done& one : done) one();
}

void TaskThread::run(const std::stop_token& stop) {
  while (true) {
    std::unique_lock lock(mutex_);
    if (!posted_.wait(lock, stop, [this] { return !waiting_.empty(); })) return;
    if (stop.stop_requested()) return;
    const Task task = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    Done done = task();
    lock.lock();
    done_.push_back(std::move(done));
    const std::uint64_t one = 1;
    (void)!::write(ready_.get(), &one, sizeof(one));
  }
}

}  // namespace tranche::process
