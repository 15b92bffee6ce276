#pragma once
// The files of `tranche lint`: read, and written if corrected.

#include <string>
#include <vector>

#include "base/result.h"
#include "explain/lint/lint.h"

namespace tranche::cli {

// The text of each path; for a folder, of its files *.yaml, *.yml and *.json; for "-", standard
// input. An error names the path: nothing is checked unless everything can be read.
Result<std::vector<lint::SourceFile>> read_lint_files(const std::vector<std::string>& paths);

// Writes each corrected file into `folder`, which is created if missing, and returns the paths.
// Nothing is written if two would have the same name, or one would replace an input file
// (kInvalidArgument).
Result<std::vector<std::string>> write_corrected(const std::vector<lint::FileResult>& results,
                                                 const std::string& folder);

}  // namespace tranche::cli
