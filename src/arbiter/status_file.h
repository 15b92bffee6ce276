#pragma once
// <state dir>/status.json: arbiter-status/v1 (limit/arbiter_status.h), replaced in one step
// whenever something in it changed. It is also how the next arbiter knows what tenants held outside
// their charges before NVML is read again.

#include <filesystem>
#include <optional>

#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "limit/arbiter_status.h"

namespace tranche::arbiter {

class StatusFile {
 public:
  // Both outlive it.
  StatusFile(const std::filesystem::path& state_dir, const Clock& clock, const Log& log);

  // What stands there from the arbiter before, empty when nothing that can be read does.
  limit::ArbiterStatus before() const;
  // Writes what differs from what was written last. A file that cannot be written is logged once:
  // limits hold all the same.
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
