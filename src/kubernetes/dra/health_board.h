#pragma once
// Passes the health of this node's devices to kubelet's stream (dra/server.h).
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
    std::chrono::system_clock::time_point at;  // when this was last observed
    std::uint64_t version = 0;
    bool stopped = false;
  };

  // Sets every device, as observed at `at`.
  void set(std::vector<DeviceHealth> devices, std::chrono::system_clock::time_point at);
  // The latest state, once it differs from `version`, at the latest after `longest`.
  View await(std::uint64_t version, std::chrono::milliseconds longest) const;
  // Releases all waiting callers.
  void stop();

  // Kubelet has accepted the driver; kubelet has requested the stream.
  void note_taken(std::chrono::steady_clock::time_point at);
  void note_asked() const;
  // Whether kubelet accepted the driver but never requests the stream: its feature gate
  // ResourceHealthStatus is off. Otherwise it requests it on accepting the driver, and again every
  // 5 s if that fails.
  bool goes_unasked(std::chrono::steady_clock::time_point now) const;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  View view_;
  std::optional<std::chrono::steady_clock::time_point> taken_;
  mutable bool asked_ = false;
};

}  // namespace tranche::dra
