#pragma once
// gpu::ProcessReader over NVML. It reads the lists of compute, MPS and graphics processes of each
// device, on threads of the pool (nvml/deadline_pool.h), so that a device that hangs does not delay
// the others. A MIG instance has its own handle. A process on several lists has the same memory on
// each, so it counts once. How busy a process was comes from the driver's samples
// (nvmlDeviceGetProcessUtilization); each sample stands for a period of time.
//
// Not thread-safe: one owner at a time. If the driver is unloaded, read() fails until it is back;
// the same object then works again.

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpu/process_reader.h"
#include "nvml/connection.h"

namespace tranche::nvml {

// How far a device's samples were read.
struct Sampled {
  std::uint64_t until = 0;  // time stamp of the last sample, us since 1970; 0: none read yet
  std::uint64_t period = 1'000'000;  // shortest period seen between two samples, us; at most 1 s
};

class ProcessReader final : public gpu::ProcessReader {
 public:
  // `sample_interval`: how often the samples are read, which takes the driver milliseconds; it
  // keeps them some ten seconds. In between, `busy` is 0.
  explicit ProcessReader(std::shared_ptr<Connection> connection,
                         std::chrono::milliseconds sample_interval = {})
      : connection_(std::move(connection)), sample_interval_(sample_interval) {}

  Result<std::vector<gpu::DeviceProcesses>> read(std::span<const std::string> uuids) override;

 private:
  bool samples_are_due();

  std::shared_ptr<Connection> connection_;
  const std::chrono::milliseconds sample_interval_;
  std::optional<std::chrono::steady_clock::time_point> samples_read_;
  std::map<std::string, Sampled> sampled_;  // by UUID
};

}  // namespace tranche::nvml
