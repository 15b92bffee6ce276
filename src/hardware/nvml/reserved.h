#pragma once
// What no program can have of a GPU's memory. Since 510 the driver's total contains what it keeps
// for itself (`reserved`, 443 MiB of a T4, 615 of an H200); before, the total was without it.

#include "base/units.h"
#include "nvml/abi.h"
#include "nvml/calls.h"

namespace tranche::nvml {

// Beside `reserved` the driver counts memory as used that no process has: 4 MiB of an H200 (driver
// 580) without a process, 14 MiB with two. The server of MPS has some 30 MiB.
inline constexpr Bytes kUsedByNobody = Bytes::from_mib(32);

struct Reserved {
  Bytes memory;
  Return result = kSuccess;  // why it is not told: then `memory` is an estimate
  bool guessed = false;      // and there was nothing to estimate it from
};

// `memory`: what the first version of the call says. Where nvmlDeviceGetMemoryInfo_v2 does not
// answer, what is used and belongs to none of the GPU's processes is taken for it.
Reserved read_reserved(Calls& call, Device device, const Memory& memory);

}  // namespace tranche::nvml
