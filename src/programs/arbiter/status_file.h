#pragma once
// <state dir>/status.json holds arbiter-status/v1 (limit/arbiter_status.h). It is replaced in one
// step whenever its content changed. The next arbiter reads from it what tenants held outside their
// charges, until NVML is read again.

#include <filesystem>
#include <optional>

#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "limit/arbiter_status.h"

namespace tranche::arbiter {

class StatusFile {
 public:
  // `clock` and `log` outlive it.
  StatusFile(const std::filesystem::path& state_dir, const Clock& clock, const Log& log);

  // The status that the arbiter before wrote; empty if there is none that can be read.
  limit::ArbiterStatus before() const;
  // Writes `status` if it differs from what was written last. A file that cannot be written is
  // logged once; limits hold all the same.
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
