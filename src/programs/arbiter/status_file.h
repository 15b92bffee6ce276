#pragma once
// <state dir>/status.json contains arbiter-status/v1 (limit/arbiter_status.h). It is replaced
// atomically whenever its content changed. The next arbiter reads from it what tenants held outside
// their charges, until NVML is read again.

#include <filesystem>
#include <optional>

#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "limit/arbiter_status.h"

namespace tranche::arbiter {

class StatusFile {
 public:
  // `clock` and `log` must outlive it.
  StatusFile(const std::filesystem::path& state_dir, const Clock& clock, const Log& log);

  // The status written by the previous arbiter; empty if there is none or it is unreadable.
  limit::ArbiterStatus before() const;
  // Writes `status` if it differs from the last written one. A failure to write is logged once;
  // limits are enforced regardless.
  void put(limit::ArbiterStatus status);

 private:
  std::filesystem::path file_;
  const Clock& clock_;
  const Log& log_;
  FsRoot fs_;
  std::optional<limit::ArbiterStatus> written_;
  bool told_ = false;
};

}  // namespace tranche::arbiter
