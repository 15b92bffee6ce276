#include "config/settings.h"

#include <fmt/format.h>

namespace tranche::config {

const Setting* Settings::find(std::string_view key) const {
  const auto found = values.find(key);
  return found == values.end() ? nullptr : &found->second;
}

std::string Settings::where(std::string_view key) const {
  const auto* setting = find(key);
  const Place place = setting == nullptr ? Place{} : setting->place;
  switch (place.from) {
    case Place::From::kFile:
      return fmt::format("{}:{}: {}", file_name, place.line, key);
    case Place::From::kEnvironment:
      return fmt::format("environment {}", place.name);
    case Place::From::kFlag:
      return fmt::format("flag --{}", place.name);
    case Place::From::kDefault:
      break;
  }
  return std::string(key);
}

const FileSharing* active_sharing(const Settings& settings) {
  if (settings.mps) return &*settings.mps;
  return settings.time_slicing ? &*settings.time_slicing : nullptr;
}

}  // namespace tranche::config
