#pragma once
// mig-parted files and machines for the tests of mig/parted.h.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/yaml.h"
#include "gpu/mig_tables.h"
#include "mig/parted.h"

namespace tranche::mig::parted_testing {

inline std::string file_with(std::string_view entry) {
  return fmt::format("version: v1\nmig-configs:\n  one:\n    - {}\n", entry);
}

inline Result<PartedFile> parse(std::string_view text) {
  return parse_parted(text, "layouts.yaml");
}

// The value of the key in the scenario's ConfigMap.
inline std::string scenario() {
  std::ifstream file("tests/data/scenarios/platform/mig-parted-config.yaml");
  std::stringstream text;
  text << file.rdbuf();
  const auto map = yaml::parse(text.str(), "config map");
  return map->root.find("data")->find("config.yaml")->scalar;
}

inline gpu::Gpu gpu_of(int index, const char* model) {
  const auto* known = gpu::find_mig_model(model);
  const auto device = std::stoul(std::string(known->pci_device_ids[0]), nullptr, 16);
  return {.index = index,
          .uuid = {fmt::format("GPU-{}", index)},
          .name = std::string(known->product_names.empty() ? model : known->product_names[0]),
          .pci_ids = {.device = static_cast<std::uint32_t>(device << 16U) | 0x10DEU,
                      .subsystem = 0x147F10DE},
          .mig_mode = gpu::MigMode::kDisabled,
          .mig_geometry = known->geometry};
}
inline gpu::Gpu t4(int index) {
  return {.index = index, .uuid = {fmt::format("GPU-{}", index)}, .name = "Tesla T4"};
}
inline gpu::Machine machine(std::vector<gpu::Gpu> gpus) { return {.gpus = std::move(gpus)}; }
inline gpu::Machine four(const char* model = "a100-80gb") {
  return machine({gpu_of(0, model), gpu_of(1, model), gpu_of(2, model), gpu_of(3, model)});
}

// "0: MIG off", "1: 2g.20gb 3, 1g.10gb 1", one line per GPU; or an error's message.
inline std::vector<std::string> wishes(const PartedFile& file, const std::string& name,
                                       const gpu::Machine& of) {
  const auto wishes = wishes_of(file, name, of);
  if (!wishes) return {wishes.error().message()};
  std::vector<std::string> lines;
  for (const auto& [gpu, wish] : *wishes) {
    std::string line = gpu.value.substr(4) + ":" + (wish.enabled ? "" : " MIG off");
    for (const auto& [profile, count] : wish.devices) line += fmt::format(" {} {}", profile, count);
    lines.push_back(line);
  }
  return lines;
}
inline std::vector<std::string> wishes(std::string_view entry, const gpu::Machine& of) {
  const auto file = parse(file_with(entry));
  if (!file) return {file.error().message()};
  return wishes(*file, "one", of);
}

}  // namespace tranche::mig::parted_testing
