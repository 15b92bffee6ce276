#pragma once
// The settings of `tranche layout`, from its words and flags. Pure.

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/programs/output_form.h"

namespace tranche::config {

struct LayoutOptions {
  std::string model;  // as written; "": not given
  // "3g.40gb=2" and "3g.40gb" (once), added up by name as written.
  std::map<std::string, int> devices;
  OutputForm output = OutputForm::kTable;
  bool operator==(const LayoutOptions&) const = default;
};

// `use`: which word, FlagUse. `words`: what stands after it. kInvalidArgument with every error, one
// a line.
Result<LayoutOptions> load_layout_options(const Sources& sources, unsigned use,
                                          const std::vector<std::string>& words);

}  // namespace tranche::config
