#pragma once
// Detects whether the driver's files may have changed since they were found, without listing
// folders of thousands of entries again: it compares stat(2) of folders and files.

#include <vector>

#include "base/file_identity.h"
#include "cdi/driver_files.h"
#include "cdi/driver_roots.h"

namespace tranche::cdi {

// Two equal stamps were taken of the same files, except for changes within a tick of the kernel's
// clock, mounts below a folder, and the numbers of device nodes. `files`: as last found; empty for
// an installation in which nothing was found yet.
std::vector<FileIdentity> stamp_of(const DriverRoots& roots, const DriverFiles& files);

}  // namespace tranche::cdi
