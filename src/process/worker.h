#pragma once
// Does what may take long on a thread of its own, one thing after the other, and hands back to the
// loop what is then to be done there.
//
// ask() and the poller by one thread, the loop's.

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "base/descriptor.h"
#include "process/poller.h"

namespace tranche::process {

class Worker {
 public:
  // Called by the loop.
  using Done = std::function<void()>;
  // Called by the thread; refers to nothing of the loop's.
  using Work = std::function<Done()>;

  // `poller` outlives it. kIo: no eventfd.
  static Result<std::unique_ptr<Worker>> start(Poller& poller);
  // Waits for what runs; what waits, and what was to be done after it, is dropped.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void ask(Work work);

 private:
  Worker(Poller& poller, Descriptor ready);
  void take();
  void work(const std::stop_token& stop);

  Poller& poller_;
  Descriptor ready_;
  std::mutex mutex_;
  std::condition_variable_any asked_;
  // Guarded by mutex_.
  std::deque<Work> waiting_;
  std::deque<Done> done_;
  std::jthread thread_;  // last: it uses all of them
};

}  // namespace tranche::process
