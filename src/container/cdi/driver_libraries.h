#pragma once
// The part of find_driver_files that finds libraries. Private to cdi/.

#include <span>
#include <string_view>

#include "base/fs.h"
#include "base/result.h"
#include "cdi/driver_files.h"
#include "cdi/driver_roots.h"

namespace tranche::cdi {

// Fills cuda_folders, libraries, explicit_libraries and library_links for `files.driver_version`,
// and adds to `dangling`.
Result<void> find_libraries(const DriverRoots& roots, DriverFiles& files);

// The folders that are searched for libraries.
std::span<const std::string_view> library_folders();

// Absolute paths of the entries of `folder` (seen through `root`), by name. Empty if the folder
// does not exist. An error: it cannot be read; a specification without its files would take them
// away from containers.
Result<std::vector<std::string>> entries_of(const FsRoot& root, const std::string& folder);

}  // namespace tranche::cdi
