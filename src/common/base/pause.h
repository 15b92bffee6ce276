#pragma once
// An interruptible wait: a stop request ends it.

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>

namespace tranche {

// False if it was cut short.
inline bool pause(std::chrono::milliseconds time, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  wake.wait_for(lock, stop, time, [] { return false; });
  return !stop.stop_requested();
}

}  // namespace tranche
