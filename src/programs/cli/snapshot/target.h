#pragma once
// Where a snapshot is written: a file for its owner alone, replaced in one step, or standard
// output.

#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tranche::cli {

// The file that `path` leads to, before anybody asks the cluster for what it shall hold.
// kInvalidArgument: its folder does not exist, or something stands there that is not a file: a
// folder, or a device or pipe, which a file would replace.
Result<std::filesystem::path> file_to_write(const std::string& path);

// With mode 0600, whatever mode the file had. An error leaves what was there as it was.
Result<void> write_private(const std::filesystem::path& file, std::string_view text);

// An error also where only the last byte does not fit.
Result<void> write_stream(std::FILE* stream, std::string_view text);

}  // namespace tranche::cli
