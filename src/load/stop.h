#pragma once
// Being told to stop: the end of standard input, which also comes when whoever started the process
// is gone. A thread of its own watches it; it calls no CUDA.

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "load/load.h"

namespace tranche::load {

class Stop {
 public:
  // Watches `fd` from now on. The object lives as long as the process's work.
  explicit Stop(int fd);
  ~Stop();
  Stop(const Stop&) = delete;
  Stop& operator=(const Stop&) = delete;

  bool told() const { return told_.load(std::memory_order_relaxed); }
  // Sleeps so long, or until told; 0 or less: not at all.
  void sleep(nanoseconds time);
  // Until told.
  void wait();

 private:
  void watch(int fd, int wake);

  std::atomic<bool> told_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  int wake_ = -1;  // write end of a pipe; closed, it ends the thread
  std::jthread thread_;
};

}  // namespace tranche::load
