#pragma once
// The driver's files as DriverFilesInput saw them last.

#include <memory>
#include <optional>

#include "base/result.h"
#include "cdi/driver_files.h"

namespace tranche::agent {

// CDI specifications are made of these files. They are only looked for where containers get devices
// by CDI.
struct DriverStanding {
  std::shared_ptr<const cdi::DriverFiles> files;  // null: not looked for, or not there
  std::optional<Error> trouble = {};              // why no specification can be made of them
  bool were_there = false;                        // since this agent started
  bool operator==(const DriverStanding&) const = default;
};

}  // namespace tranche::agent
