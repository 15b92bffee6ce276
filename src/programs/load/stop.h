#pragma once
// Tells a worker to stop at the end of its standard input. That end also arrives when the process
// that started the worker is gone. The Stop's own thread watches for it; that thread calls no
// CUDA.

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "load/load.h"

namespace tranche::load {

class Stop {
 public:
  // Watches `fd` from now on. The object must live as long as the process works.
  explicit Stop(int fd);
  ~Stop();
  Stop(const Stop&) = delete;
  Stop& operator=(const Stop&) = delete;

  bool told() const { return told_.load(std::memory_order_relaxed); }
  // Sleeps for `time`, or until told to stop. Does not sleep if `time` is 0 or less.
  void sleep(nanoseconds time);
  // Waits until told to stop.
  void wait();

 private:
  void watch(int fd, int wake);

  std::atomic<bool> told_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  int wake_ = -1;  // write end of a pipe; closing it ends the thread
  std::jthread thread_;
};

}  // namespace tranche::load
