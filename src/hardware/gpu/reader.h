#pragma once
// Port: reads the hardware. Adapter: nvml/reader.h (NVML and sysfs). The adapter leaves
// Machine::host empty; wiring fills it in from host/host_reader.h. Fake:
// tests/support/fake_reader.h.

#include "base/result.h"
#include "gpu/machine.h"

namespace tranche::gpu {

class Reader {
 public:
  virtual ~Reader() = default;

  // The machine's current state. A lost or hanging GPU does not fail the reading: the result lists
  // it with its Presence. kUnavailable: no driver, or NVML cannot start. kTimeout: NVML hangs as a
  // whole. No NVML call takes longer than the adapter's deadline (5 s).
  virtual Result<Machine> read() = 0;

  // The links between the GPUs of `machine`. Slow on some machines, so it is not part of read().
  virtual Result<Topology> read_topology(const Machine& machine) = 0;
};

}  // namespace tranche::gpu
