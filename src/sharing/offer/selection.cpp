#include "offer/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace tranche::offer {
namespace {

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text;
}

std::vector<std::size_t> first(std::size_t count) {
  std::vector<std::size_t> out(count);
  std::iota(out.begin(), out.end(), std::size_t{0});
  return out;
}

Selection select_count(int count, const std::vector<Device>& devices) {
  const auto wished = static_cast<std::size_t>(std::max(count, 0));
  if (wished <= devices.size()) return {first(wished), {}};
  return {first(devices.size()),
          {fmt::format("{} devices where there are {}", wished, devices.size())}};
}

Selection select_listed(const std::vector<std::string>& items, const std::vector<Device>& devices,
                        const DeviceNames& names) {
  Selection out;
  std::set<std::size_t> chosen;  // an item may name a device that another one named already
  for (const std::string& item : items) {
    const auto name = names.find(lower(item));
    const auto device = name == names.end()
                            ? devices.end()
                            : std::ranges::find(devices, name->second, &Device::uuid);
    if (device == devices.end()) {
      out.missing.push_back(fmt::format("device {}", item));
    } else {
      chosen.insert(static_cast<std::size_t>(device - devices.begin()));
    }
  }
  out.devices.assign(chosen.begin(), chosen.end());
  return out;
}

}  // namespace

DeviceNames device_names(const gpu::Machine& machine) {
  DeviceNames out;
  for (const gpu::Gpu& gpu : machine.gpus) {
    out[std::to_string(gpu.index)] = gpu.uuid.value;
    out[lower(gpu.uuid.value)] = gpu.uuid.value;
    for (const gpu::MigInstance& mig : gpu.mig_instances) {
      out[fmt::format("{}:{}", gpu.index, mig.slot)] = mig.uuid.value;
      out[lower(mig.uuid.value)] = mig.uuid.value;
      out[lower(fmt::format("MIG-{}/{}/{}", gpu.uuid.value, mig.gpu_instance_id,
                            mig.compute_instance_id))] = mig.uuid.value;
    }
  }
  return out;
}

Selection select_devices(const config::Devices& wish, const std::vector<Device>& devices,
                         const DeviceNames& names) {
  if (const auto* count = std::get_if<config::DeviceCount>(&wish)) {
    return select_count(count->count, devices);
  }
  if (const auto* list = std::get_if<config::DeviceList>(&wish)) {
    return select_listed(list->items, devices, names);
  }
  return {first(devices.size()), {}};
}

}  // namespace tranche::offer
