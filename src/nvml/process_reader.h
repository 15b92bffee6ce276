#pragma once
// gpu::ProcessReader over NVML: the lists of compute, MPS and graphics processes of each device, on
// pool (nvml/deadline_pool.h), so that a device that hangs costs the others nothing. A MIG instance
// is asked by its own handle. A process that is on several lists has the same memory on each: it
// counts once. How busy each was comes from the samples that the driver keeps
// (nvmlDeviceGetProcessUtilization), each of which stands for a period.
//
// One owner at a time: not thread-safe. When the driver goes, read() fails until it is back,
// through the same object.

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gpu/process_reader.h"
#include "nvml/connection.h"

namespace tranche::nvml {

// How far a device's samples were read.
struct Sampled {
  std::uint64_t until = 0;           // us since 1970; 0: none were
  std::uint64_t period = 1'000'000;  // us of each, as far as is known; a second at most
};

class ProcessReader final : public gpu::ProcessReader {
 public:
  explicit ProcessReader(std::shared_ptr<Connection> connection)
      : connection_(std::move(connection)) {}

  Result<std::vector<gpu::DeviceProcesses>> read(std::span<const std::string> uuids) override;

 private:
  std::shared_ptr<Connection> connection_;
  std::map<std::string, Sampled> sampled_;  // by UUID
};

}  // namespace tranche::nvml
