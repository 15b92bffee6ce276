#include "sim/mps/devices.h"

#include "fmt/format.h"
#include "sim/gpu/mig.h"

namespace tranche::sim::mps {

std::string uuid_of(const State& state, const UseTarget& device) {
  const Gpu& gpu = state.gpus[device.gpu];
  if (device.gpu_instance == kNone) return gpu.uuid;
  return mig_uuid(
      gpu, {.gpu_instance = device.gpu_instance, .compute_instance = device.compute_instance});
}

std::optional<std::uint32_t> ordinal_of(const State& state, const std::vector<UseTarget>& devices,
                                        std::string_view name) {
  for (std::uint32_t i = 0; i < devices.size(); ++i) {
    if (name == std::to_string(i) || name == uuid_of(state, devices[i])) return i;
  }
  return std::nullopt;
}

std::string device_table(const State& state, const std::vector<UseTarget>& devices) {
  std::string table = fmt::format("{:<15} {:<17} {:<42} {:<26} {}\n", "Device Ordinal", "PCI IDs",
                                  "UUID", "Name", "Attributes");
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const Gpu& gpu = state.gpus[devices[i].gpu];
    const std::string pci =
        fmt::format("{:04x}:{:02x}:{:02x}.00", gpu.pci.domain, gpu.pci.bus, gpu.pci.device);
    table += fmt::format("{:<15} {:<17} {:<42} {:<26}\n", i, pci, uuid_of(state, devices[i]),
                         state.models[gpu.model].name);
  }
  return table;
}

}  // namespace tranche::sim::mps
