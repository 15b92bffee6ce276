#include "base/process_stat.h"

#include <charconv>

namespace tranche {
namespace {

constexpr int kStatState = 3;  // number of the first field after the name
constexpr int kParent = 4;
constexpr int kStartTime = 22;

// The field `number` of `fields`, which begin with the state. A field that no blank ends is torn.
std::optional<std::string_view> stat_field(std::string_view fields, int number) {
  for (int at = kStatState; at < number; ++at) {
    const auto blank = fields.find(' ');
    if (blank == fields.npos) return std::nullopt;
    fields.remove_prefix(blank + 1);
  }
  const auto end = fields.find(' ');
  if (end == fields.npos) return std::nullopt;
  return fields.substr(0, end);
}

bool read_stat_field(std::string_view fields, int number, auto& out) {
  const auto text = stat_field(fields, number);
  if (!text) return false;
  const auto [stop, error] = std::from_chars(text->data(), text->data() + text->size(), out);
  return error == std::errc() && stop == text->data() + text->size();
}

}  // namespace

std::optional<ProcessStat> parse_process_stat(std::string_view stat) {
  // The name may hold blanks, brackets and line ends, so it ends at the last bracket.
  const auto open = stat.find('(');
  const auto close = stat.rfind(") ");
  if (open == stat.npos || close == stat.npos || close < open) return std::nullopt;
  const auto fields = stat.substr(close + 2);
  ProcessStat result{.name = std::string(stat.substr(open + 1, close - open - 1))};
  if (!read_stat_field(fields, kParent, result.parent) ||
      !read_stat_field(fields, kStartTime, result.start_time)) {
    return std::nullopt;
  }
  return result;
}

}  // namespace tranche
