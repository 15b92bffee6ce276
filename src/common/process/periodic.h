#pragma once
// Runs an action at intervals on its own thread; the first time at once.

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>

namespace tranche::process {

class Periodic {
 public:
  Periodic(std::chrono::milliseconds interval, std::function<void()> action)
      : thread_([this, interval, action = std::move(action)](const std::stop_token& stop) {
          while (!stop.stop_requested()) {
            action();
            std::unique_lock lock(mutex_);
            wake_.wait_for(lock, stop, interval, [] { return false; });
          }
        }) {}

 private:
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;
};

}  // namespace tranche::process
