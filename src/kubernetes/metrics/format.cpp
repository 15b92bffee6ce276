#include "metrics/format.h"

#include <algorithm>
#include <optional>

#include "base/letter_case.h"

namespace tranche::metrics {
namespace {

// One element of the header.
struct MediaRange {
  std::string_view type;     // "text/plain", "text/*", "*/*"
  std::string_view version;  // empty: any
  int quality = 1000;        // q in thousandths
};

std::string_view trim(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// Takes the text before the next `separator` that is in no quoted string off the front of `rest`.
std::string_view take(std::string_view& rest, char separator) {
  bool quoted = false;
  std::size_t end = 0;
  for (; end < rest.size() && (quoted || rest[end] != separator); ++end) {
    if (rest[end] == '"') quoted = !quoted;
    if (quoted && rest[end] == '\\') ++end;
  }
  const std::string_view taken = rest.substr(0, std::min(end, rest.size()));
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return trim(taken);
}

// "0.25" -> 250. At most three decimals, from 0 to 1; nullopt: anything else.
std::optional<int> quality(std::string_view text) {
  if (text.empty() || text.size() > 5 || (text[0] != '0' && text[0] != '1')) return std::nullopt;
  if (text.size() > 1 && text[1] != '.') return std::nullopt;
  int thousandths = (text[0] - '0') * 1000;
  int place = 100;
  for (std::size_t i = 2; i < text.size(); ++i, place /= 10) {
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    thousandths += (text[i] - '0') * place;
  }
  if (thousandths > 1000) return std::nullopt;
  return thousandths;
}

std::string_view unquoted(std::string_view text) {
  const bool quoted = text.size() >= 2 && text.front() == '"' && text.back() == '"';
  return quoted ? text.substr(1, text.size() - 2) : text;
}

// nullopt: its q cannot be read.
std::optional<MediaRange> parse_range(std::string_view element) {
  MediaRange range{.type = take(element, ';')};
  while (!element.empty()) {
    std::string_view value = take(element, ';');
    const std::string_view name = take(value, '=');
    if (same_without_case(name, "version")) range.version = unquoted(value);
    if (!same_without_case(name, "q")) continue;
    const auto read = quality(value);
    if (!read) return std::nullopt;
    range.quality = *read;
  }
  return range;
}

// How closely the range names Prometheus' text: 0: not at all.
int closeness_to_text(const MediaRange& range) {
  if (same_without_case(range.type, "text/plain")) {
    return range.version.empty() || range.version == "0.0.4" ? 3 : 0;
  }
  if (same_without_case(range.type, "text/*")) return 2;
  return range.type == "*/*" ? 1 : 0;
}

bool names_open_metrics(const MediaRange& range) {
  return same_without_case(range.type, "application/openmetrics-text") &&
         (range.version.empty() || range.version == "1.0.0");
}

}  // namespace

std::string_view content_type(Format format) {
  return format == Format::kOpenMetrics
             ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
             : "text/plain; version=0.0.4; charset=utf-8";
}

Format negotiate(std::string_view accept) {
  int open_metrics = 0;
  int text = 0;
  int closest = 0;  // of several ranges the closest one counts, however little it is liked
  while (!accept.empty()) {
    const auto range = parse_range(take(accept, ','));
    if (!range) continue;
    if (names_open_metrics(*range)) open_metrics = std::max(open_metrics, range->quality);
    const int closeness = closeness_to_text(*range);
    if (closeness == 0 || closeness < closest) continue;
    text = closeness > closest ? range->quality : std::max(text, range->quality);
    closest = closeness;
  }
  return open_metrics > 0 && open_metrics >= text ? Format::kOpenMetrics : Format::kPrometheusText;
}

}  // namespace tranche::metrics
