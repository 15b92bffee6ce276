// Arbitrary text as a file of mig-parted. What is accepted must be the same after writing as YAML
// and JSON and reading again; a refusal must have a reason in printable words. Then each layout's
// wishes for a machine.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "gpu/mig_tables.h"
#include "mig/parted.h"
#include "mig/place.h"

namespace {

using namespace tranche;

void require(bool holds) {
  if (!holds) std::abort();
}

gpu::Machine machine() {
  gpu::Machine machine;
  for (const auto* model : {"a100-80gb", "a30-24gb"}) {
    const int index = static_cast<int>(machine.gpus.size());
    machine.gpus.push_back({.index = index,
                            .uuid = {model},
                            .pci_ids = {.device = index == 0 ? 0x20B210DEU : 0x20B710DEU},
                            .mig_mode = gpu::MigMode::kDisabled,
                            .mig_geometry = gpu::find_mig_model(model)->geometry});
  }
  machine.gpus.push_back({.index = 2, .uuid = {"t4"}, .name = "Tesla T4"});
  return machine;
}

void check_layout(const mig::PartedFile& file, const std::string& name) {
  static const gpu::Machine kMachine = machine();
  const auto wishes = mig::wishes_of(file, name, kMachine);
  if (!wishes) {
    require(!wishes.error().what.empty());
    return;
  }
  for (const auto& [uuid, wish] : *wishes) {
    const auto& geometry = gpu::find_gpu(kMachine, uuid)->mig_geometry;
    const auto instances = mig::instances_of(wish, geometry);
    if (!instances) continue;
    if (const auto layout = mig::place(*instances, geometry)) {
      require(mig::check(*layout, geometry).has_value());
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto file = mig::parse_parted(text, "file");
  if (!file) {
    require(file.error().code == Code::kInvalidArgument && !file.error().what.empty());
    return 0;
  }
  const auto written = mig::to_yaml(*file);
  const auto again = mig::parse_parted(written, "again");
  require(again && mig::to_yaml(*again) == written);
  const auto from_json = mig::parse_parted(mig::to_json(*file).text(), "json");
  require(file->configs.empty() || (from_json && mig::to_yaml(*from_json) == written));
  for (const auto& [name, entries] : file->configs) check_layout(*file, name);
  return 0;
}
