#pragma once
// Reads one GPU on a pool thread: identity, memory, MIG instances, fabric, recovery action.
// It takes values and writes only to `answer`, because after a hang it may outlive its
// caller.

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
  // The last description of the GPU at this index. If a call fails, its fact is taken from here.
  std::optional<gpu::Gpu> known;
  // `known` has every fixed fact (name, addresses, compute capability), so these are not read
  // again.
  bool known_complete = false;
  FsRoot host;
  std::shared_ptr<const gpu::MigMinors> minors;  // null: read when needed
};

struct DeviceAnswer {
  bool identified = false;  // gpu.uuid is valid
  bool complete = false;    // every fixed fact is known
  gpu::Gpu gpu;
  Device handle = nullptr;
  std::string failure;  // when not identified
  std::vector<std::string> warnings;
  std::shared_ptr<const gpu::MigMinors> minors;
};

void read_device(Calls& call, const DeviceQuery& query, DeviceAnswer& answer);

}  // namespace tranche::nvml
