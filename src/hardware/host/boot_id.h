#pragma once
// Which start of this machine it is.

#include <string>

#include "base/fs.h"

namespace tranche::host {

// The kernel's id of this boot, a UUID. Where it cannot be read, every boot is the same one:
// "unknown".
std::string boot_id(const FsRoot& host);

}  // namespace tranche::host
