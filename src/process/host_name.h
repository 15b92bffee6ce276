#pragma once
// What this machine or Pod is called.

#include <string>

namespace tranche::process {

// "unknown" when the kernel does not say.
std::string host_name();

}  // namespace tranche::process
