#pragma once
// The name of this machine or Pod.

#include <string>

namespace tranche::process {

// "unknown" when the kernel does not say.
std::string host_name();

}  // namespace tranche::process
