#pragma once
// The extensions of the arbiter that runs on a node: the list is extensions.def.

#include <memory>
#include <vector>

#include "arbiter/extension.h"
#include "nvml/connection.h"

namespace tranche::arbiter {

// `driver`: asked by those that need it.
std::vector<MakeExtension> extensions_of_node(const std::shared_ptr<nvml::Connection>& driver);

}  // namespace tranche::arbiter
