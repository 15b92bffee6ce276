#pragma once
// gpu::ProcessReader over NVML: the lists of compute, MPS and graphics processes of each device, on
// lanes (nvml/lanes.h), so that a device that hangs costs the others nothing. A MIG instance is
// asked by its own handle. A process that is on several lists has the same memory on each: it
// counts once.
//
// One owner at a time: not thread-safe. When the driver goes, read() fails until it is back,
// through the same object.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gpu/process_reader.h"
#include "nvml/connection.h"

namespace tranche::nvml {

class ProcessReader final : public gpu::ProcessReader {
 public:
  explicit ProcessReader(std::shared_ptr<Connection> connection)
      : connection_(std::move(connection)) {}

  Result<std::vector<gpu::DeviceProcesses>> read(std::span<const std::string> uuids) override;

 private:
  std::shared_ptr<Connection> connection_;
};

}  // namespace tranche::nvml
