#pragma once
// What of a fleet a reader may see: names of Pods of namespaces whose Pods they may list. Others'
// namespace, Pod and container are empty, and what they use and wait for stays. Pure.

#include <functional>
#include <set>
#include <string>

#include "fleet/fleet.h"

namespace tranche::controller {

std::set<std::string> namespaces_of(const fleet::Fleet& fleet);

// `sees`: whether the reader may see the names of this namespace.
fleet::Fleet visible(fleet::Fleet fleet, const std::function<bool(const std::string& ns)>& sees);

}  // namespace tranche::controller
