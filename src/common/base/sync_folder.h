#pragma once
// Makes names durable. A file that is synced and then renamed has its content on the disk, but the
// new name is an entry of the folder: until the folder is synced, a power cut brings back the old
// file. Everything that renames a synced file calls this afterwards.

#include <filesystem>

#include "base/result.h"

namespace tranche {

// Makes all changes to the names in `folder` (created, changed, removed) durable before returning.
// A file system that cannot sync a folder (EINVAL, ENOTSUP) persists names in its own way; this is
// not an error.
Result<void> sync_folder(const std::filesystem::path& folder);

}  // namespace tranche
