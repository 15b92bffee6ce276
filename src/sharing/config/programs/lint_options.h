#pragma once
// The settings of `tranche lint`, from words and flags. Pure.

#include <string>
#include <vector>

#include "base/api_server.h"
#include "base/result.h"
#include "config/programs/output_form.h"

namespace tranche::config {

struct LintOptions {
  std::vector<std::string> files;  // files and folders; "-": standard input
  OutputForm output = OutputForm::kTable;
  std::string fix_to;  // a folder; "": corrected files are printed
  bool strict = false;
  bool cluster = false;
  std::string snapshot;  // a file; "": none
  ApiServer api_server;
  bool operator==(const LintOptions&) const = default;
};

// Reads the flags and environment of `sources`. kInvalidArgument with every error, one per
// line.
Result<LintOptions> load_lint_options(const Sources& sources, std::vector<std::string> files);

}  // namespace tranche::config
