#include <algorithm>

#include "sim/cli/tree.h"

namespace tranche::sim {
namespace {

constexpr std::uint32_t kVgpu = 2;
constexpr std::size_t kSize = 256;

void put16(std::string& bytes, std::size_t at, std::uint32_t value) {
  bytes[at] = static_cast<char>(value & 0xFFU);
  bytes[at + 1] = static_cast<char>(value >> 8U & 0xFFU);
}

// NVIDIA's capability of a vGPU: id 9, next, length, "VF", then records {type, length, value}.
// Record 0 holds the hypervisor's driver version and branch, ten bytes each.
void put_vgpu(std::string& bytes, std::size_t at, const State& state) {
  constexpr std::size_t kText = 10;
  constexpr std::size_t kLength = 5 + 2 + 2 * kText;
  bytes[at] = 0x09;
  bytes[at + 1] = 0;
  bytes[at + 2] = static_cast<char>(kLength);
  bytes[at + 3] = 'V';
  bytes[at + 4] = 'F';
  bytes[at + 5] = 0;
  bytes[at + 6] = static_cast<char>(2 + 2 * kText);
  const auto put = [&](std::size_t to, std::string_view text) {
    text.substr(0, kText).copy(bytes.data() + to, kText);
  };
  put(at + 7, state.host_driver_version);
  put(at + 7 + kText, state.host_driver_branch);
}

}  // namespace

std::string pci_config(const State& state, const Gpu& gpu) {
  constexpr std::size_t kCapability = 0x60;
  const Model& model = state.models[gpu.model];
  std::string bytes(kSize, '\0');
  put16(bytes, 0x00, model.pci_device_id & 0xFFFFU);
  put16(bytes, 0x02, model.pci_device_id >> 16U);
  put16(bytes, 0x04, 0x0406);  // memory space, bus master, no INTx
  put16(bytes, 0x06, 0x0010);  // has a capability list
  bytes[0x08] = static_cast<char>(0xA1);
  put16(bytes, 0x0A, model.pci_class >> 8U);
  put16(bytes, 0x2C, model.pci_subsystem_id & 0xFFFFU);
  put16(bytes, 0x2E, model.pci_subsystem_id >> 16U);
  bytes[0x34] = static_cast<char>(kCapability);
  if (state.virtualization == kVgpu) {
    put_vgpu(bytes, kCapability, state);
  } else {
    bytes[kCapability] = 0x10;  // PCI Express, the last of the list
  }
  return bytes;
}

}  // namespace tranche::sim
