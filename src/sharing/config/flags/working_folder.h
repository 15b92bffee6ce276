#pragma once
// NVIDIA's programs read and write their own files from the working folder. Paths on the host, such
// as the driver's root, mean nothing there: option_reader.h refuses relative ones.

#include <filesystem>

#include "config/flags/sources.h"

namespace tranche::config {

// The same sources; the relative paths of such files, by flag or environment, are below `folder`.
// `uses`: the programs whose flags count.
Sources from_folder(Sources sources, unsigned uses, const std::filesystem::path& folder);

}  // namespace tranche::config
