#pragma once
// Port: who is on a device, and with how much of its memory. Adapter: nvml/process_reader.h. Fake:
// tests/support/fake_process_reader.h.

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace tranche::gpu {

struct DeviceProcess {
  pid_t pid = 0;                  // in the caller's pid namespace
  std::optional<Bytes> memory{};  // nullopt: the driver does not tell it
  // For how long it kept the device busy, by the driver's samples that have come since the last
  // reading: coarse, up to a second late, nothing with the first reading. 0 too where the driver
  // does not tell it, as of MIG instances.
  std::chrono::nanoseconds busy{0};
  bool operator==(const DeviceProcess&) const = default;
};

// The processes of one device, each once, by pid. A failure is this device's alone: kNotFound,
// there is no such device (any more); kTimeout; kUnavailable.
struct DeviceProcesses {
  std::string uuid;
  Result<std::vector<DeviceProcess>> processes;
};

class ProcessReader {
 public:
  virtual ~ProcessReader() = default;

  // Of the GPUs and MIG instances with these UUIDs, in their order: whoever computes there, as an
  // MPS client too, or draws. kUnavailable: no driver; kTimeout: it hangs as a whole.
  virtual Result<std::vector<DeviceProcesses>> read(std::span<const std::string> uuids) = 0;
};

}  // namespace tranche::gpu
