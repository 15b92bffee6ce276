#pragma once
// MemoryLimiter over nvmlDeviceSetMemoryLimits_v1 and nvmlDeviceGetMemoryLimits_v1. The soft
// limit stays 0. A soft limit reserves memory in all groups above, and the driver does not release
// that when the group is removed (docs/decisions/0014-kernel-memory-limits.md).
//
// Thread-safe. Each call is a task of the pool (nvml/deadline_pool.h) with its GPU's key, so a
// hanging GPU does not delay calls about other GPUs.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "arbiter/kernel/memory_limiter.h"
#include "nvml/connection.h"

namespace tranche::arbiter {

class NvmlMemoryLimiter final : public MemoryLimiter {
 public:
  explicit NvmlMemoryLimiter(std::shared_ptr<nvml::Connection> connection)
      : connection_(std::move(connection)) {}

  Result<void> set(const std::string& uuid, const std::filesystem::path& cgroup,
                   std::optional<Bytes> hard) override;
  Result<CgroupMemory> read(const std::string& uuid, const std::filesystem::path& cgroup) override;

 private:
  struct Answer;
  template <class Work>
  Result<std::shared_ptr<Answer>> ask(const std::string& uuid, Work work);

  std::shared_ptr<nvml::Connection> connection_;
};

}  // namespace tranche::arbiter
