#pragma once
// The name of this machine or Pod.

#include <string>

namespace tranche::process {

// "unknown" if the kernel does not report it.
std::string host_name();

}  // namespace tranche::process
