#pragma once
// Where a snapshot is written: a file readable only by its owner, replaced atomically, or standard
// output.

#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tranche::cli {

// The file that `path` leads to; checked before the cluster is read. kInvalidArgument: its folder
// does not exist, or it exists and is not a file: a folder, or a device or pipe, which a file would
// replace.
// `flag`: where it was named, for messages.
Result<std::filesystem::path> file_to_write(const std::string& path,
                                            std::string_view flag = "--output");

// With mode 0600, whatever the file's mode was. On an error the old file stays.
Result<void> write_private(const std::filesystem::path& file, std::string_view text);

// Also reports an error if only the last byte does not fit.
Result<void> write_stream(std::FILE* stream, std::string_view text);

}  // namespace tranche::cli
