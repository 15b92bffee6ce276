#include "config/file/settings.h"

namespace tranche::config {

const Setting* Settings::find(std::string_view key) const {
  const auto found = values.find(key);
  return found == values.end() ? nullptr : &found->second;
}

std::string Settings::where(std::string_view key) const {
  const auto* setting = find(key);
  return config::where(setting == nullptr ? Place{} : setting->place, file_name, key);
}

const FileSharing* active_sharing(const Settings& settings) {
  if (settings.mps) return &*settings.mps;
  return settings.time_slicing ? &*settings.time_slicing : nullptr;
}

}  // namespace tranche::config
