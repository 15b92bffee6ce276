#pragma once
// The extensions of a node's arbiter, as listed in arbiter/run/extensions.def.

#include <memory>
#include <vector>

#include "arbiter/extension.h"
#include "nvml/connection.h"

namespace tranche::arbiter {

// `driver`: for the extensions that call NVML.
std::vector<MakeExtension> extensions_of_node(const std::shared_ptr<nvml::Connection>& driver);

}  // namespace tranche::arbiter
