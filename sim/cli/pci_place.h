#pragma once
// A GPU's place in the machine's PCI tree, as in the links of /sys/bus/pci/devices. Pure.

#include <string>

#include "sim/state/state.h"

namespace tranche::sim {

// "0000:07:00.0"
std::string pci_name(const PciAddress& address);

// Below /sys/devices: "pci0000:06/0000:06:01.0/0000:07:00.0", the root, the port, the GPU. GPUs of
// one host bridge have the same root; its number is the one before the first of their buses. A GPU
// on bus 0 is directly on the root, as in virtual machines. The numbers of roots and ports are
// invented, and PCIe switches are omitted.
std::string pci_place(const State& state, const Gpu& gpu);

}  // namespace tranche::sim
