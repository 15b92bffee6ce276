#pragma once
// What `tranche lint` prints. Pure.

#include <cstddef>
#include <string>
#include <vector>

#include "base/json_value.h"
#include "explain/lint/lint.h"

namespace tranche::cli {

struct LintCounts {
  std::size_t errors = 0;
  std::size_t warnings = 0;
  std::size_t corrected = 0;
  std::size_t documents = 0;
  std::size_t skipped = 0;
};
LintCounts count(const std::vector<lint::FileResult>& results);

// For people, like a compiler: "file:line: error: what", then the place in the document and what to
// do. `width`: of the terminal, for wrapping; 0: not a terminal.
std::string lint_text(const std::vector<lint::FileResult>& results, std::size_t width);
// "1 error (1 corrected), no warnings in 3 documents", and what was not checked.
std::string lint_summary(const std::vector<lint::FileResult>& results);
// lint/v1.
json::Value lint_document(const std::vector<lint::FileResult>& results);

}  // namespace tranche::cli
