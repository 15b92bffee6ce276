#pragma once
// Port: limits of device memory that the driver itself keeps for a control group, whatever its
// processes load (r615 and later). Adapter: nvml/memory_limiter.h. Fake:
// tests/support/fake_memory_limiter.h.

#include <filesystem>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/units.h"

namespace tranche::gpu {

struct CgroupMemory {
  std::optional<Bytes> hard;  // nullopt: no limit is set
  Bytes used;
  bool operator==(const CgroupMemory&) const = default;
};

class MemoryLimiter {
 public:
  virtual ~MemoryLimiter() = default;

  // From now on the processes of the control group at `cgroup` (its folder, seen by the caller),
  // and of those below it, get at most `hard` of GPU `uuid` together; what they hold stays theirs.
  // nullopt, or what the GPU has and more: no limit. A limit goes with its group. Errors, with what
  // to do: kPermission; kUnsupported: driver, GPU, or a GPU in MIG mode; kNotFound: the GPU, the
  // group or its controller is not there; kTimeout; kUnavailable.
  virtual Result<void> set(const std::string& uuid, const std::filesystem::path& cgroup,
                           std::optional<Bytes> hard) = 0;
  // What holds there now. Errors as above.
  virtual Result<CgroupMemory> read(const std::string& uuid,
                                    const std::filesystem::path& cgroup) = 0;
};

}  // namespace tranche::gpu
