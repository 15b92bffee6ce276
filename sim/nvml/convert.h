#pragma once
// Conversions of state values to NVML's structures that several functions need.

#include "sim/nvml/abi.h"
#include "sim/state/state.h"

namespace tranche::sim {

// Bus numbers and texts; device and subsystem ids are left 0.
void fill_pci(const PciAddress& address, abi::nvmlPciInfo_t& out);

}  // namespace tranche::sim
