// The default layouts of NVIDIA's MIG manager, for the GPUs' capabilities. Source: mig-parted
// v0.15.0, `generate-config`.

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "mig/parted.h"

namespace tranche::mig {
namespace {

// GPUs with MIG, one of each PCI device id.
std::map<std::uint32_t, const gpu::Gpu*> models_of(const gpu::Machine& machine) {
  std::map<std::uint32_t, const gpu::Gpu*> models;
  for (const auto& gpu : machine.gpus) {
    if (!gpu.mig_geometry.empty()) models.try_emplace(gpu.pci_ids.device, &gpu);
  }
  return models;
}

DeviceFilter filter_of(std::uint32_t device) {
  return {.text = fmt::format("0x{:08X}", device), .device = device, .subsystem = {}};
}

PartedEntry entry(GpuWish wish) {
  return {.filters = {}, .devices = std::nullopt, .wish = std::move(wish)};
}

// "1g.10gb+me" -> "all-1g.10gb.me": a label's value has no '+'.
std::string layout_name(std::string profile) {
  std::ranges::replace(profile, '+', '.');
  return "all-" + profile;
}

// Of plain profiles with so many compute slices, the one that fits most often.
const gpu::GpuInstanceProfile* plain_profile(const gpu::MigGeometry& geometry, int slices) {
  const gpu::GpuInstanceProfile* best = nullptr;
  for (const auto& one : geometry.profiles) {
    if (one.kind != gpu::MigKind::kPlain || one.compute_slices != slices) continue;
    if (best == nullptr || one.max_instances > best->max_instances) best = &one;
  }
  return best;
}

int largest_plain(const gpu::MigGeometry& geometry) {
  int slices = 0;
  for (const auto& one : geometry.profiles) {
    if (one.kind == gpu::MigKind::kPlain) slices = std::max(slices, one.compute_slices);
  }
  return slices;
}

// Empty: there is no such layout for this GPU.
std::map<std::string, int> balanced(const gpu::MigGeometry& geometry) {
  static const std::map<int, std::map<int, int>> kCounts = {{7, {{1, 2}, {2, 1}, {3, 1}}},
                                                            {4, {{1, 2}, {2, 1}}}};
  const auto counts = kCounts.find(largest_plain(geometry));
  if (counts == kCounts.end()) return {};
  std::map<std::string, int> devices;
  for (const auto& [slices, count] : counts->second) {
    const auto* profile = plain_profile(geometry, slices);
    if (profile == nullptr) return {};
    devices[profile->name] = count;
  }
  return devices;
}

class Defaults {
 public:
  explicit Defaults(const gpu::Machine& machine) : models_(models_of(machine)) {}

  PartedFile make() && {
    file_.configs["all-disabled"] = {entry({.enabled = false, .devices = {}})};
    file_.configs["all-enabled"] = {entry({.enabled = true, .devices = {}})};
    for (const auto& [device, gpu] : models_) {
      if (auto devices = balanced(gpu->mig_geometry); !devices.empty()) {
        add("all-balanced", device, std::move(devices));
      }
      for (const auto& profile : gpu->mig_geometry.profiles) {
        add(layout_name(profile.name), device, {{profile.name, profile.max_instances}});
      }
    }
    return std::move(file_);
  }

 private:
  // Models with the same devices share an entry.
  void add(const std::string& name, std::uint32_t device, std::map<std::string, int> devices) {
    auto& entries = file_.configs[name];
    const bool several = models_.size() > 1;
    for (auto& other : entries) {
      if (other.wish.devices != devices) continue;
      if (several) other.filters.push_back(filter_of(device));
      return;
    }
    entries.push_back(entry({.enabled = true, .devices = std::move(devices)}));
    if (several) entries.back().filters.push_back(filter_of(device));
  }

  std::map<std::uint32_t, const gpu::Gpu*> models_;
  PartedFile file_;
};

}  // namespace

PartedFile default_layouts(const gpu::Machine& machine) { return Defaults(machine).make(); }

}  // namespace tranche::mig
