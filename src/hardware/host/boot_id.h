#pragma once
// Identifies the current boot of this machine.

#include <string>

#include "base/fs.h"

namespace tranche::host {

// The kernel's id of this boot, a UUID. If it cannot be read, all boots look the same:
// "unknown".
std::string boot_id(const FsRoot& host);

}  // namespace tranche::host
