#pragma once
// gpu::MemoryLimiter over nvmlDeviceSetMemoryLimits_v1 and nvmlDeviceGetMemoryLimits_v1. The soft
// limit stays 0: it reserves memory up the tree of groups, and the driver does not give that back
// when a group simply goes (docs/decisions/0014-kernel-memory-limits.md).
//
// Thread-safe: each call is a task on a thread of the pool (nvml/deadline_pool.h) of its own GPU,
// so that one that hangs costs the others nothing.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "gpu/memory_limiter.h"
#include "nvml/connection.h"

namespace tranche::nvml {

class MemoryLimiter final : public gpu::MemoryLimiter {
 public:
  explicit MemoryLimiter(std::shared_ptr<Connection> connection)
      : connection_(std::move(connection)) {}

  Result<void> set(const std::string& uuid, const std::filesystem::path& cgroup,
                   std::optional<Bytes> hard) override;
  Result<gpu::CgroupMemory> read(const std::string& uuid,
                                 const std::filesystem::path& cgroup) override;

 private:
  struct Answer;
  template <class Work>
  Result<std::shared_ptr<Answer>> ask(const std::string& uuid, Work work);

  std::shared_ptr<Connection> connection_;
};

}  // namespace tranche::nvml
