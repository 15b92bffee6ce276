// What a mig-parted file wants of a machine's GPUs.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/edit_distance.h"
#include "base/first_few.h"
#include "mig/parted.h"

namespace tranche::mig {
namespace {

using Wishes = std::map<gpu::GpuUuid, GpuWish>;

constexpr std::size_t kMostNames = 30;

std::unexpected<Error> no_such_layout(const PartedFile& file, const std::string& name) {
  std::vector<std::string_view> names;
  for (const auto& [known, entries] : file.configs) names.push_back(known);
  const auto what = fmt::format("there is no layout \"{}\" in the file", name);
  if (names.empty()) {
    return fail(Code::kNotFound, what, "it has none: name layouts in \"mig-configs\"");
  }
  const auto near = tranche::nearest(name, names);
  return fail(Code::kNotFound, what,
              fmt::format("{}it has {}", near ? fmt::format("did you mean \"{}\"? ", *near) : "",
                          first_few(names, kMostNames)));
}

bool matches(const DeviceFilter& filter, const gpu::PciIds& ids) {
  return filter.device == ids.device && (!filter.subsystem || *filter.subsystem == ids.subsystem);
}

bool is_for(const PartedEntry& entry, const gpu::Gpu& gpu) {
  const bool kind =
      entry.filters.empty() || std::ranges::any_of(entry.filters, [&](const DeviceFilter& filter) {
        return matches(filter, gpu.pci_ids);
      });
  return kind &&
         (!entry.devices || std::ranges::find(*entry.devices, gpu.index) != entry.devices->end());
}

Result<void> check_indices(const PartedFile& file, const PartedEntry& entry,
                           const gpu::Machine& machine) {
  if (!entry.devices) return {};
  for (const int index : *entry.devices) {
    if (std::ranges::find(machine.gpus, index, &gpu::Gpu::index) != machine.gpus.end()) continue;
    return fail(Code::kInvalidArgument,
                fmt::format("{}:{}: there is no GPU {}", file.name, entry.line, index),
                fmt::format("this machine has {} GPUs, counted from 0", machine.gpus.size()));
  }
  return {};
}

// What the entries of one layout want.
struct Asked {
  Wishes wishes;
  bool any = false;                    // an entry is for a GPU of the machine
  const gpu::Gpu* without = nullptr;   // has no MIG, but an entry wants it
  const gpu::Gpu* by_index = nullptr;  // the same, and the entry names it by its index
};

// "all" means the GPUs that have MIG, as in mig-parted.
void ask(const PartedEntry& entry, const gpu::Gpu& gpu, Asked& asked) {
  asked.any = true;
  if (has_mig(gpu)) {
    asked.wishes.insert_or_assign(gpu.uuid, entry.wish);
  } else if (entry.wish.enabled) {
    asked.without = &gpu;
    if (entry.devices) asked.by_index = &gpu;
  }
}

}  // namespace

bool has_mig(const gpu::Gpu& gpu) {
  return gpu.mig_mode != gpu::MigMode::kUnsupported || !gpu.mig_unread.empty();
}

Error without_mig(const gpu::Gpu& gpu, Code code) {
  return {code, fmt::format("GPU {} ({}) has no MIG", gpu.index, gpu.name),
          "share it by time-slicing, by MPS or by limits instead (docs/configuration.md)"};
}

Result<Wishes> wishes_of(const PartedFile& file, const std::string& name,
                         const gpu::Machine& machine) {
  const auto layout = file.configs.find(name);
  if (layout == file.configs.end()) return no_such_layout(file, name);
  Asked asked;
  for (const auto& entry : layout->second) {
    TRY(check_indices(file, entry, machine));
    for (const auto& gpu : machine.gpus) {
      if (is_for(entry, gpu)) ask(entry, gpu, asked);
    }
  }
  if (asked.wishes.empty() && asked.without != nullptr) {
    return std::unexpected(without_mig(*asked.without, Code::kUnsupported));
  }
  if (asked.by_index != nullptr) {
    return std::unexpected(without_mig(*asked.by_index, Code::kInvalidArgument));
  }
  if (!asked.any) {
    return fail(Code::kInvalidArgument,
                fmt::format("no entry of layout \"{}\" is for a GPU of this machine", name),
                "see its device-filter and devices");
  }
  return std::move(asked.wishes);
}

}  // namespace tranche::mig
