#pragma once
// The files of `tranche lint`: read, and written where they are corrected.

#include <string>
#include <vector>

#include "base/result.h"
#include "explain/lint/lint.h"

namespace tranche::cli {

// Of each path its text; of a folder those of its files that end in .yaml, .yml or .json; of "-"
// standard input. An error names the path: nothing is judged where something cannot be read.
Result<std::vector<lint::SourceFile>> read_lint_files(const std::vector<std::string>& paths);

// Writes each corrected file into `folder`, which is made where it is not there, and returns the
// paths. Nothing is written where two would have one name, or one would replace what was read
// (kInvalidArgument).
Result<std::vector<std::string>> write_corrected(const std::vector<lint::FileResult>& results,
                                                 const std::string& folder);

}  // namespace tranche::cli
