#pragma once
// From the options of `tranche top` to what the rooms need.

#include <map>
#include <memory>
#include <string>

#include "base/result.h"
#include "config/programs/top_options.h"
#include "top/screen/terminal.h"
#include "top/source/source.h"
#include "top/view/settings.h"

namespace tranche::top {

using Environment = std::map<std::string, std::string>;

// kInvalidArgument: the filter.
Result<Settings> settings_of(const config::TopOptions& options, bool utf8);
Theme theme_of(const config::TopOptions& options, const Environment& environment);
// Not of a recording. Errors: those of the cluster's choice, and of files that cannot be read.
Result<std::unique_ptr<Source>> open_source(const config::TopOptions& options,
                                            const config::Sources& sources);

}  // namespace tranche::top
