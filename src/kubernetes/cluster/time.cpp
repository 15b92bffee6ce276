#include "cluster/time.h"

#include <fmt/format.h>

#include <optional>

namespace tranche::cluster {
namespace {

// Takes exactly `digits` digits off the front.
std::optional<int> take_number(std::string_view& text, std::size_t digits) {
  if (text.size() < digits) return std::nullopt;
  int value = 0;
  for (const char c : text.substr(0, digits)) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  text.remove_prefix(digits);
  return value;
}

bool take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

std::optional<std::chrono::nanoseconds> take_fraction(std::string_view& text) {
  if (!take(text, '.')) return std::chrono::nanoseconds(0);
  std::int64_t value = 0;
  std::int64_t unit = 100'000'000;
  bool any = false;
  while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    if (unit == 0) return std::nullopt;
    value += (text.front() - '0') * unit;
    unit /= 10;
    any = true;
    text.remove_prefix(1);
  }
  return any ? std::optional(std::chrono::nanoseconds(value)) : std::nullopt;
}

// "Z", "+02:00".
std::optional<std::chrono::minutes> take_offset(std::string_view& text) {
  if (take(text, 'Z') || take(text, 'z')) return std::chrono::minutes(0);
  const bool minus = text.starts_with('-');
  if (!minus && !text.starts_with('+')) return std::nullopt;
  text.remove_prefix(1);
  const auto hours = take_number(text, 2);
  if (!hours || *hours > 23 || !take(text, ':')) return std::nullopt;
  const auto minutes = take_number(text, 2);
  if (!minutes || *minutes > 59) return std::nullopt;
  const std::chrono::minutes offset(*hours * 60 + *minutes);
  return minus ? -offset : offset;
}

// Nanoseconds in 64 bits end in 2262.
bool is_kept(std::chrono::year year) {
  return year >= std::chrono::year(1678) && year <= std::chrono::year(2261);
}

std::optional<std::chrono::sys_days> take_date(std::string_view& text) {
  const auto year = take_number(text, 4);
  if (!year || !take(text, '-')) return std::nullopt;
  const auto month = take_number(text, 2);
  if (!month || !take(text, '-')) return std::nullopt;
  const auto day = take_number(text, 2);
  if (!day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok() || !is_kept(date.year())) return std::nullopt;
  return std::chrono::sys_days(date);
}

std::optional<std::chrono::seconds> take_time_of_day(std::string_view& text) {
  const auto hours = take_number(text, 2);
  if (!hours || *hours > 23 || !take(text, ':')) return std::nullopt;
  const auto minutes = take_number(text, 2);
  if (!minutes || *minutes > 59 || !take(text, ':')) return std::nullopt;
  const auto seconds = take_number(text, 2);
  if (!seconds || *seconds > 60) return std::nullopt;
  return std::chrono::seconds(*hours * 3600 + *minutes * 60 + *seconds);
}

std::optional<WallTime> take_instant(std::string_view& text) {
  const auto date = take_date(text);
  if (!date || (!take(text, 'T') && !take(text, 't'))) return std::nullopt;
  const auto time = take_time_of_day(text);
  if (!time) return std::nullopt;
  const auto fraction = take_fraction(text);
  if (!fraction) return std::nullopt;
  const auto offset = take_offset(text);
  if (!offset) return std::nullopt;
  const WallTime instant = WallTime(*date) + *time + *fraction - *offset;
  // The offset may lead into another year, in which micro_time() would write what is refused here.
  const auto day = std::chrono::floor<std::chrono::days>(instant);
  if (!is_kept(std::chrono::year_month_day(day).year())) return std::nullopt;
  return instant;
}

}  // namespace

std::string micro_time(WallTime time) {
  using namespace std::chrono;
  const auto micros = floor<microseconds>(time);
  const auto day = floor<days>(micros);
  const year_month_day date(day);
  const hh_mm_ss clock(micros - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                     clock.subseconds().count());
}

std::string whole_second_time(WallTime time) {
  constexpr std::size_t kToSeconds = 19;
  return micro_time(time).substr(0, kToSeconds) + 'Z';
}

Result<WallTime> parse_time(std::string_view text) {
  auto rest = text;
  const auto time = take_instant(rest);
  if (time && rest.empty()) return *time;
  return fail(Code::kInvalidArgument,
              fmt::format("\"{}\" is no time such as 2026-01-31T12:00:00.000000Z", text));
}

}  // namespace tranche::cluster
