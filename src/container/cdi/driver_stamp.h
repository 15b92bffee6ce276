#pragma once
// Whether the driver's files may be others than when they were found, without listing folders of
// thousands of entries again: what folders and files are by stat(2).

#include <vector>

#include "base/file_identity.h"
#include "cdi/driver_files.h"
#include "cdi/driver_roots.h"

namespace tranche::cdi {

// Two that are equal were taken of the same files, but for what happened within a tick of the
// kernel's clock, mounts below a folder, and the numbers of device nodes. `files`: as they were
// found last; of an installation in which nothing was found yet, empty.
std::vector<FileIdentity> stamp_of(const DriverRoots& roots, const DriverFiles& files);

}  // namespace tranche::cdi
