#pragma once
// Waiting for what another thread or process will do, with a deadline that only a broken program
// reaches.

#include <chrono>
#include <functional>
#include <thread>

namespace tranche::test {

inline bool eventually(const std::function<bool()>& condition,
                       std::chrono::milliseconds deadline = std::chrono::seconds(20)) {
  const auto end = std::chrono::steady_clock::now() + deadline;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace tranche::test
