#pragma once
// The health of this node's devices, from who knows it to kubelet's stream (dra/server.h).
// Thread-safe.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace tranche::dra {

struct DeviceHealth {
  std::string pool;
  std::string device;
  std::string reason = {};  // why it is unhealthy; empty: it is healthy
  bool operator==(const DeviceHealth&) const = default;
};

class HealthBoard {
 public:
  struct View {
    std::vector<DeviceHealth> devices;
    std::chrono::system_clock::time_point at;  // when they were seen so last
    std::uint64_t version = 0;
    bool stopped = false;
  };

  // Every device, as it was seen at `at`.
  void set(std::vector<DeviceHealth> devices, std::chrono::system_clock::time_point at);
  // What was set last, once it differs from `version`, at the latest after `longest`.
  View await(std::uint64_t version, std::chrono::milliseconds longest) const;
  // Nobody waits any more.
  void stop();

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  View view_;
};

}  // namespace tranche::dra
