#pragma once
// The part of a GPU's memory that programs cannot use. Since driver 510 the driver's total includes
// what it keeps for itself (`reserved`, 443 MiB on a T4, 615 on an H200); before that, the total
// excluded it.

#include "base/units.h"
#include "nvml/abi.h"
#include "nvml/calls.h"

namespace tranche::nvml {

// Besides `reserved` the driver counts memory as used that belongs to no process: 4 MiB on an H200
// (driver 580) without a process, 14 MiB with two. The MPS server uses about 30 MiB.
inline constexpr Bytes kUsedByNobody = Bytes::from_mib(32);

struct Reserved {
  Bytes memory;
  Return result = kSuccess;  // why it is not reported: then `memory` is an estimate
  bool guessed = false;      // and there was no basis for an estimate
};

// `memory`: the result of the call's first version. If nvmlDeviceGetMemoryInfo_v2 is not available,
// used memory that belongs to none of the GPU's processes is taken as reserved.
Reserved read_reserved(Calls& call, Device device, const Memory& memory);

}  // namespace tranche::nvml
