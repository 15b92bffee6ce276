#include "sim/cli/pci_place.h"

#include <algorithm>

#include "fmt/format.h"

namespace tranche::sim {
namespace {

bool share_root(const Gpu& a, const Gpu& b) {
  return a.host_bridge != kNone && a.host_bridge == b.host_bridge && a.pci.domain == b.pci.domain;
}

std::uint32_t root_bus(const State& state, const Gpu& gpu) {
  std::uint32_t first = gpu.pci.bus;
  for (std::uint32_t i = 0; i < state.gpu_count; ++i) {
    if (share_root(gpu, state.gpus[i])) first = std::min(first, state.gpus[i].pci.bus);
  }
  return first == 0 ? 0 : first - 1;
}

}  // namespace

std::string pci_name(const PciAddress& address) {
  return fmt::format("{:04x}:{:02x}:{:02x}.0", address.domain, address.bus, address.device);
}

std::string pci_place(const State& state, const Gpu& gpu) {
  const auto root = root_bus(state, gpu);
  const auto bus = fmt::format("pci{:04x}:{:02x}", gpu.pci.domain, root);
  if (gpu.pci.bus == root) return fmt::format("{}/{}", bus, pci_name(gpu.pci));
  const PciAddress port{.domain = gpu.pci.domain, .bus = root, .device = 1};
  return fmt::format("{}/{}/{}", bus, pci_name(port), pci_name(gpu.pci));
}

}  // namespace tranche::sim
