#include "base/amounts.h"

#include <fmt/format.h>

#include <algorithm>

namespace tranche {

std::string size_text(std::uint64_t bytes) {
  constexpr unsigned kKibi = 10;
  constexpr unsigned kMebi = 20;
  constexpr unsigned kGibi = 30;
  if (bytes >> kMebi == 0) return fmt::format("{} KiB", bytes >> kKibi);
  if (bytes >> kGibi == 0) return fmt::format("{} MiB", bytes >> kMebi);
  const auto rest = bytes & ((std::uint64_t{1} << kGibi) - 1);
  const auto tenths = (bytes >> kGibi) * 10 + ((rest * 10 + (1U << (kGibi - 1))) >> kGibi);
  return tenths % 10 == 0 ? fmt::format("{} GiB", tenths / 10)
                          : fmt::format("{}.{} GiB", tenths / 10, tenths % 10);
}

std::string age_text(std::int64_t seconds) {
  constexpr std::int64_t kMinute = 60;
  constexpr std::int64_t kHour = 60 * kMinute;
  constexpr std::int64_t kDay = 24 * kHour;
  seconds = std::max<std::int64_t>(seconds, 0);
  if (seconds < 2 * kMinute) return fmt::format("{}s", seconds);
  if (seconds < 2 * kHour) return fmt::format("{}m", seconds / kMinute);
  if (seconds < 2 * kDay) return fmt::format("{}h", seconds / kHour);
  return fmt::format("{}d", seconds / kDay);
}

}  // namespace tranche
