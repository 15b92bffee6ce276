#pragma once
// Port: reads which processes use a device, and how much of its memory each holds. Adapter:
// nvml/process_reader.h. Fake: tests/support/fake_process_reader.h.

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
  std::optional<Bytes> memory{};  // nullopt: not reported by the driver
  // How long the process kept the device busy since the last reading, by the driver's samples. The
  // value is coarse and up to a second late. 0 at the first reading, and where the driver does not
  // report it (MIG instances).
  std::chrono::nanoseconds busy{0};
  bool operator==(const DeviceProcess&) const = default;
};

// The processes of one device, each once, sorted by pid. An error here concerns only this device:
// kNotFound: there is no such device (any more); kTimeout; kUnavailable.
struct DeviceProcesses {
  std::string uuid;
  Result<std::vector<DeviceProcess>> processes;
};

class ProcessReader {
 public:
  virtual ~ProcessReader() = default;

  // Reads the processes of the GPUs and MIG instances with these UUIDs, in the order of `uuids`:
  // processes with a compute context (MPS clients included) and with a graphics context.
  // kUnavailable: no driver; kTimeout: the driver hangs as a whole.
  virtual Result<std::vector<DeviceProcesses>> read(std::span<const std::string> uuids) = 0;
};

}  // namespace tranche::gpu
