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

// Makes `folder` contain exactly `files` among our own file names. A file whose content differs is
// replaced atomically (0644). The file of a class that is no longer wanted is removed; NVIDIA's
// plugin leaves it, so that containers keep devices that are gone. Other files are left alone. A
// missing folder is created.
Result<Written> write_specs(const FsRoot& fs, const std::filesystem::path& folder,
                            std::span<const SpecFile> files);

}  // namespace tranche::cdi
