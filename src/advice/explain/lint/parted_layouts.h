#pragma once
// Whether a GPU can meet a mig-parted file's request: by the known models, without hardware.
// Pure.

#include <optional>

#include "explain/lint/finding.h"
#include "mig/parted.h"

namespace tranche::lint {

// What is wrong with the instances of one entry. An error: models have such profiles, but none can
// have that many next to each other. A warning: no known model has such profiles. nullopt: some
// model can have them, or the entry is for unknown models.
std::optional<Finding> check_instances(const mig::PartedEntry& entry);

}  // namespace tranche::lint
