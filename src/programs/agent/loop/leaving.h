#pragma once
// Which devices leave service while a MIG layout is changed. Pure.

#include <set>
#include <string>

#include "agent/loop/state.h"
#include "gpu/machine.h"

namespace tranche::agent {

// Their UUIDs, of GPUs and of MIG devices.
std::set<std::string> leaving_devices(const MigStanding& standing, const gpu::Machine& machine);

}  // namespace tranche::agent
