#pragma once
// Reads a file that an operator named. Only for the files of this room.

#include <filesystem>

#include "base/fs.h"
#include "base/result.h"

namespace tranche::http {

// As FsRoot::observe(), which follows links. A file that was replaced meanwhile, which looks as if
// it were being written, is read anew. kInvalidArgument also for what is no regular file: another
// kind, such as a pipe, may block whoever opens it.
Result<FileReading> read_regular(const FsRoot& root, const std::filesystem::path& file,
                                 std::size_t max_bytes);

}  // namespace tranche::http
