#pragma once
// The name of our DRA driver, where files of Kubernetes objects set it: the chart writes it into
// the containers of the agents and the controller. Pure.

#include <optional>
#include <string>
#include <vector>

#include "explain/lint/lint.h"

namespace tranche::lint {

// nullopt: no container has the setting. What cannot be read sets nothing.
std::optional<std::string> driver_named_in(const std::vector<SourceFile>& files);

}  // namespace tranche::lint
