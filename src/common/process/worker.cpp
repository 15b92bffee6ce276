#include "process/worker.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace tranche::process {

Result<std::unique_ptr<Worker>> Worker::start(Poller& poller) {
  Descriptor ready(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!ready.is_open()) return std::unexpected(errno_error(errno, "eventfd"));
  std::unique_ptr<Worker> worker(new Worker(poller, std::move(ready)));
  TRY(poller.add(worker->ready_.get(), [w = worker.get()] { w->take(); }));
  return worker;
}

Worker::Worker(Poller& poller, Descriptor ready)
    : poller_(poller),
      ready_(std::move(ready)),
      thread_([this](const std::stop_token& stop) { work(stop); }) {}

Worker::~Worker() { poller_.remove(ready_.get()); }

void Worker::ask(Work work) {
  {
    const std::scoped_lock lock(mutex_);
    waiting_.push_back(std::move(work));
  }
  asked_.notify_one();
}

void Worker::take() {
  std::uint64_t count = 0;
  (void)!::read(ready_.get(), &count, sizeof(count));
  std::deque<Done> done;
  {
    const std::scoped_lock lock(mutex_);
    done.swap(done_);
  }
  for (const Done& one : done) one();
}

void Worker::work(const std::stop_token& stop) {
  while (true) {
    std::unique_lock lock(mutex_);
    if (!asked_.wait(lock, stop, [this] { return !waiting_.empty(); })) return;
    if (stop.stop_requested()) return;
    const Work next = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    Done done = next();
    lock.lock();
    done_.push_back(std::move(done));
    const std::uint64_t one = 1;
    (void)!::write(ready_.get(), &one, sizeof(one));
  }
}

}  // namespace tranche::process
