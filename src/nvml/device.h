#pragma once
// Reads one GPU on a thread of the pool: identity, memory, MIG instances, fabric, what the driver
// wants done. Only values come in and only `answer` goes out, because after a hang it may run on
// alone.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fs.h"
#include "gpu/machine.h"
#include "gpu/sysfs.h"
#include "nvml/calls.h"

namespace tranche::nvml {

struct DeviceQuery {
  int index = 0;
  // The last description of the GPU at this index. What a call fails to tell stays as it was.
  std::optional<gpu::Gpu> known;
  // It holds every fixed fact (name, addresses, compute capability): they are not asked again.
  bool known_complete = false;
  FsRoot host;
  std::shared_ptr<const gpu::MigMinors> minors;  // null: read when needed
};

struct DeviceAnswer {
  bool identified = false;  // gpu.uuid is valid
  bool complete = false;    // every fixed fact was told
  gpu::Gpu gpu;
  Device handle = nullptr;
  std::string failure;  // when not identified
  std::vector<std::string> warnings;
  std::shared_ptr<const gpu::MigMinors> minors;
};

void read_device(Calls& call, const DeviceQuery& query, DeviceAnswer& answer);

}  // namespace tranche::nvml
