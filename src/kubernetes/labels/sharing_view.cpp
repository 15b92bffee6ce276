#include "labels/sharing_view.h"

#include <algorithm>
#include <string_view>

namespace tranche::labels {
namespace {

// UUIDs are hexadecimal, so the case of their letters does not matter.
bool same(std::string_view a, std::string_view b) {
  const auto lower = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  return std::ranges::equal(a, b, {}, lower, lower);
}

bool names(const config::DeviceList& list, const DeviceRef& device) {
  return std::ranges::any_of(list.items, [&](const std::string& item) {
    return item == device.index || same(item, device.uuid) ||
           (!device.legacy.empty() && same(item, device.legacy));
  });
}

bool reaches(const config::Devices& wish, const DeviceRef& device, std::size_t position) {
  if (const auto* count = std::get_if<config::DeviceCount>(&wish)) {
    return position < static_cast<std::size_t>(std::max(count->count, 0));
  }
  if (const auto* list = std::get_if<config::DeviceList>(&wish)) return names(*list, device);
  return true;
}

bool reaches_labelled(const config::Devices& wish, std::span<const DeviceRef> devices) {
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (devices[i].labelled && reaches(wish, devices[i], i)) return true;
  }
  return false;
}

}  // namespace

ResourceSharing sharing_of(const config::Sharing& sharing, const config::ResourceName& resource,
                           std::span<const DeviceRef> devices) {
  ResourceSharing found;
  const auto* active = sharing.active();
  if (active == nullptr) return found;
  for (const auto& entry : active->resources) {
    if (entry.name != resource || entry.replicas <= found.replicas) continue;
    if (!reaches_labelled(entry.devices, devices)) continue;
    found = {.replicas = entry.replicas,
             .renamed = entry.advertised() != entry.name,
             .strategy = sharing.strategy()};
  }
  return found;
}

}  // namespace tranche::labels
