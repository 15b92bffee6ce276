#pragma once
// Port: device memory limits that the driver itself enforces for a control group, whatever
// libraries its processes load (r615 and later). Adapter: arbiter/kernel/nvml_memory_limiter.h.
// Fake: tests/support/fake_memory_limiter.h.

#include <filesystem>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/units.h"

namespace tranche::arbiter {

struct CgroupMemory {
  std::optional<Bytes> hard;  // nullopt: no limit is set
  Bytes used;
  bool operator==(const CgroupMemory&) const = default;
};

class MemoryLimiter {
 public:
  virtual ~MemoryLimiter() = default;

  // Limits the memory of GPU `uuid` that the processes of the control group `cgroup`, and of the
  // groups below it, may hold together. `cgroup` is the group's folder as the caller sees it.
  // Memory that the processes already hold stays theirs. nullopt, or a limit of at least the GPU's
  // memory: no limit. The limit ends with its group. Errors, each with what to do: kPermission;
  // kUnsupported: the driver or the GPU cannot, or the GPU is in MIG mode; kNotFound: there is no
  // such GPU, group or controller; kTimeout; kUnavailable.
  virtual Result<void> set(const std::string& uuid, const std::filesystem::path& cgroup,
                           std::optional<Bytes> hard) = 0;
  // The current limit of this group, and the memory that the group holds. Errors as above.
  virtual Result<CgroupMemory> read(const std::string& uuid,
                                    const std::filesystem::path& cgroup) = 0;
};

}  // namespace tranche::arbiter
