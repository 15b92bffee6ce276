#pragma once
// Whether a GPU can have what a file of mig-parted asks of it: by the models we know, without
// hardware. Pure.

#include <optional>

#include "explain/lint/finding.h"
#include "mig/parted.h"

namespace tranche::lint {

// What is wrong with the instances of one entry. An error: models have such profiles, and none can
// have so many beside each other. A warning: no model that we know has such profiles. nullopt: some
// model can have them, or the entry is for models that we do not know.
std::optional<Finding> check_instances(const mig::PartedEntry& entry);

}  // namespace tranche::lint
