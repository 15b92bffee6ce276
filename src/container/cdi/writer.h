#pragma once
// CDI specification files in the folder that container runtimes read.

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/fs.h"
#include "base/result.h"
#include "cdi/make_specs.h"

namespace tranche::cdi {

inline constexpr std::string_view kSpecFolder = "/var/run/cdi";

struct Written {
  std::vector<std::string> changed;  // file names
  std::vector<std::string> removed;
  bool operator==(const Written&) const = default;
};

// Makes `folder` hold exactly `files` of the file names that are ours. A file whose content differs
// is replaced in one step (0644). A file of a class that is no longer wanted is removed; NVIDIA's
// plugin leaves it, and containers keep devices that are gone. Other files are not touched. The
// folder is made if it is missing.
Result<Written> write_specs(const FsRoot& fs, const std::filesystem::path& folder,
                            std::span<const SpecFile> files);

}  // namespace tranche::cdi
