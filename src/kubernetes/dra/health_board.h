#pragma once
// The health of this node's devices, from who knows it to kubelet's stream (dra/server.h).
// Thread-safe.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
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

  // Kubelet has taken the driver; it has asked for the stream.
  void note_taken(std::chrono::steady_clock::time_point at);
  void note_asked() const;
  // Whether kubelet takes the driver and never asks: its feature gate ResourceHealthStatus is off.
  // One that asks does so when it takes the driver, and again every 5 s where that fails.
  bool goes_unasked(std::chrono::steady_clock::time_point now) const;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  View view_;
  std::optional<std::chrono::steady_clock::time_point> taken_;
  mutable bool asked_ = false;
};

}  // namespace tranche::dra
