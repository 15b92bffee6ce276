#pragma once
// The driver's files as DriverFilesInput saw them last.

#include <memory>
#include <optional>

#include "base/result.h"
#include "cdi/driver_files.h"

namespace tranche::agent {

// The source of CDI specifications. Only looked for where containers get devices by CDI.
struct DriverStanding {
  std::shared_ptr<const cdi::DriverFiles> files;  // null: not looked for, or missing
  std::optional<Error> trouble = {};              // why no specification can be made
  bool were_there = false;                        // since this agent started
  bool operator==(const DriverStanding&) const = default;
};

}  // namespace tranche::agent
