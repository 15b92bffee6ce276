#pragma once
// The extensions of the arbiter that runs on a node, as arbiter/run/extensions.def lists them.

#include <memory>
#include <vector>

#include "arbiter/extension.h"
#include "nvml/connection.h"

namespace tranche::arbiter {

// `driver`: for the extensions that call NVML.
std::vector<MakeExtension> extensions_of_node(const std::shared_ptr<nvml::Connection>& driver);

}  // namespace tranche::arbiter
