#pragma once
// Port: reads the hardware. Adapter: nvml/reader.h (NVML and sysfs); Machine::host is added by
// wiring from host/host_reader.h. Fake: tests/support/fake_reader.h.

#include "base/result.h"
#include "gpu/machine.h"

namespace tranche::gpu {

class Reader {
 public:
  virtual ~Reader() = default;

  // The machine as it is now. One lost or hanging GPU does not fail the reading: it is in the
  // result with its Presence. Errors: kUnavailable, no driver or NVML cannot start; kTimeout, NVML
  // hangs as a whole. Never takes longer than its adapter's deadline (5 s a call).
  virtual Result<Machine> read() = 0;

  // Links between `machine`'s GPUs; slow on some machines, so read only when asked for.
  virtual Result<Topology> read_topology(const Machine& machine) = 0;
};

}  // namespace tranche::gpu
