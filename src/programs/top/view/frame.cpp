// Frames of a Session.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/printable.h"
#include "top/view/help.h"
#include "top/view/session.h"
#include "top/view/table.h"
#include "top/view/tree.h"

namespace tranche::top {
namespace {

// A screen lower than this has no room for what stands above the table; one lower than the second,
// none for sums and troubles.
constexpr std::size_t kLinesForTitle = 4;
constexpr std::size_t kLinesForSums = 8;
constexpr std::size_t kMostTroubles = 4;

}  // namespace

std::vector<Line> Session::above(const Size& size, const Status& status) const {
  std::vector<Line> lines;
  if (size.lines < kLinesForTitle) return lines;
  lines.push_back(title_line(reading_.get(), status, settings_.signs));
  if (size.lines < kLinesForSums) return lines;
  if (reading_) lines.push_back(sums_line(*reading_, settings_.signs));
  std::vector<Line> troubles;
  for (const auto& line : trouble_lines(reading_.get(), status)) {
    std::ranges::move(wrapped(line, size.columns), std::back_inserter(troubles));
  }
  if (troubles.size() > kMostTroubles) troubles.resize(kMostTroubles);
  std::ranges::move(troubles, std::back_inserter(lines));
  return lines;
}

std::vector<Line> Session::table(const Size& size, std::size_t lines) {
  std::vector<Line> result;
  if (!reading_ || lines == 0) return result;
  const Table table(size.columns, settings_, history_, reading_->cluster);
  if (lines > 1) result.push_back(table.header());
  page_ = std::max<std::size_t>(lines - result.size(), 1);
  const auto at = cursor();
  if (at < first_) first_ = at;
  if (at >= first_ + page_) first_ = at - page_ + 1;
  first_ = std::min(first_, rows_.size() - std::min(rows_.size(), page_));
  for (std::size_t i = first_; i < std::min(rows_.size(), first_ + page_); ++i) {
    result.push_back(table.line(rows_[i]));
    result.back().selected = i == at;
  }
  if (rows_.empty()) {
    result.emplace_back().add(settings_.filter ? "nothing matches the filter" : "there is no GPU",
                              Style::kDim);
  }
  return result;
}

Line Session::footer(std::size_t columns) const {
  Line line;
  if (!complaint_.empty()) {
    line.add(complaint_, Style::kBad);
  } else if (prompt_ != Prompt::kNone) {
    const std::string title = prompt_ == Prompt::kFilter ? "filter: " : "find: ";
    const auto room = columns - std::min(columns, title.size() + 1);
    line.add(title, Style::kHeader);
    line.add(typed_.substr(typed_.size() - std::min(typed_.size(), room)) + "_");
  } else {
    line.add(fmt::format("? help  q quit  / filter  f find  s sort: {}{}  t tree  space pause",
                         to_string(settings_.sort), settings_.reverse ? " reversed" : ""),
             Style::kDim);
    if (settings_.filter)
      line.add("  filter: " + printable(settings_.filter->text()), Style::kWarning);
  }
  return line;
}

std::vector<Line> Session::frame(const Size& size, const Status& status) {
  auto shown = status;
  shown.paused = paused_;
  std::vector<Line> lines;
  const bool has_footer = size.lines >= 2;
  const auto room = size.lines - (has_footer ? 1 : 0);
  if (help_) {
    auto help = help_lines(settings_.signs);
    page_ = std::max<std::size_t>(room, 1);
    help_first_ = std::min(help_first_, help.size() - std::min(help.size(), room));
    help.erase(help.begin(), help.begin() + static_cast<std::ptrdiff_t>(help_first_));
    lines = std::move(help);
  } else {
    lines = above(size, shown);
    if (lines.size() > room) lines.resize(room);
    std::ranges::move(table(size, room - lines.size()), std::back_inserter(lines));
  }
  lines.resize(room);
  if (has_footer) lines.push_back(footer(size.columns));
  for (auto& line : lines) line = fitted(line, size.columns, settings_.signs);
  return lines;
}

std::string page_text(const Reading& reading, const Settings& settings, const History& history,
                      const Status& status, std::size_t width) {
  std::string text = text_of(title_line(&reading, status, settings.signs)) + '\n';
  text += text_of(sums_line(reading, settings.signs)) + '\n';
  for (const auto& line : trouble_lines(&reading, status)) text += text_of(line) + '\n';
  const Table table(width, settings, history, reading.cluster);
  text += '\n' + text_of(table.header()) + '\n';
  for (const auto& row : rows_of(reading, settings)) text += text_of(table.line(row)) + '\n';
  return text;
}

}  // namespace tranche::top
