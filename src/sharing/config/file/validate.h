#pragma once
// The rules that NVIDIA's programs check after parsing, applied to the effective settings in their
// order.

#include <string>
#include <vector>

#include "config/file/settings.h"
#include "config/flags/sources.h"
#include "config/problems.h"

namespace tranche::config {

// Settings that no key of a file sets.
struct FlagsAlone {
  std::vector<std::string> trusted_folders;  // in which a file may name paths (trusted_paths.h)
  bool cdi_hooks = true;                     // CDI files name the hook program
};

// The agent checks everything. Feature discovery checks the discovery strategy, as NVIDIA's does,
// and the MIG strategy too, because it would fail on that later.
void validate(const Settings& settings, Program program, const FlagsAlone& flags,
              Problems& problems);

}  // namespace tranche::config
