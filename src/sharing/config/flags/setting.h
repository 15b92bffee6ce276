#pragma once
// The value that one source (a flag, an environment variable, the file or a default) gives to one
// setting, with its place.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tranche::config {

// nullopt: infinite.
struct Interval {
  std::optional<std::chrono::nanoseconds> value;
  bool operator==(const Interval&) const = default;
};

// The alternatives of a setting's value, by FlagType.
using SettingValue = std::variant<std::string, bool, std::int64_t, double,
                                  std::vector<std::int64_t>, std::vector<std::string>, Interval>;

struct Place {
  enum class From { kDefault, kFile, kEnvironment, kFlag };
  From from = From::kDefault;
  int line = 0;      // kFile
  std::string name;  // kEnvironment, kFlag: without dashes
};

struct Setting {
  SettingValue value;
  Place place;
};

// The name of the setting `key` in messages: "file:3: flags.migStrategy", "environment
// MIG_STRATEGY", "flag --mig-strategy", or for a default just the key.
std::string where(const Place& place, std::string_view file_name, std::string_view key);

}  // namespace tranche::config
