#pragma once
// Values of the state in NVML's structures, where more than one function needs them.

#include "sim/nvml/abi.h"
#include "sim/state/state.h"

namespace tranche::sim {

// Bus numbers and texts; device and subsystem ids are left 0.
void fill_pci(const PciAddress& address, abi::nvmlPciInfo_t& out);

}  // namespace tranche::sim
