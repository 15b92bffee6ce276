#pragma once
// Removes a folder with all that is in it, or a file.

#include <filesystem>

#include "base/result.h"

namespace tranche {

// Somebody else may remove parts of it meanwhile. One that is not there is no error.
Result<void> remove_tree(const std::filesystem::path& path);

}  // namespace tranche
