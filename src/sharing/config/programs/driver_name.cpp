#include "config/programs/driver_name.h"

#include <cstddef>

namespace tranche::config {

std::string read_driver_name(OptionReader& reader) {
  static constexpr std::size_t kLongest = 63;
  auto name = reader.get<std::string>("dra-driver-name");
  const bool known =
      name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-.") == std::string::npos;
  const auto is_end = [](char c) { return c == '-' || c == '.'; };
  if (!known || name.empty() || name.size() > kLongest || is_end(name.front()) ||
      is_end(name.back()) || name.find("..") != std::string::npos) {
    reader.error("dra-driver-name", fmt::format("'{}' names no driver", name.substr(0, 80)),
                 "write a DNS subdomain of at most 63 characters, such as gpu.nvidia.com");
  }
  return name;
}

}  // namespace tranche::config
