#include "config/flags/setting.h"

#include <fmt/format.h>

namespace tranche::config {

std::string where(const Place& place, std::string_view file_name, std::string_view key) {
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

}  // namespace tranche::config
