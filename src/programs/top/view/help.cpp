#include "top/view/help.h"

#include <fmt/format.h>

#include "top/view/filter.h"

namespace tranche::top {
namespace {

struct KeyHelp {
  std::string_view key;
  std::string_view what;
};
constexpr KeyHelp kKeys[] = {
    {"q", "quit"},
    {"up down PgUp PgDn g G", "move"},
    {"left right enter", "close and open a row"},
    {"C", "close all GPUs and nodes, or open all"},
    {"t", "tree, or one list of containers"},
    {"x", "processes of containers"},
    {"s r", "sort by the next column; reverse"},
    {"/", "filter"},
    {"f n N", "find; the next one; the one before"},
    {"Esc", "no filter, no search"},
    {"space", "pause"},
    {"?", "this page"},
};

Line line_of(std::string text, Style style = Style::kPlain) {
  Line line;
  line.add(std::move(text), style);
  return line;
}

Line signs_line(const Signs& signs) {
  Line line = line_of("Memory of a GPU: ");
  const auto part = [&](std::string_view sign, std::string_view ascii, std::string_view what,
                        Style style) {
    line.add(std::string(signs.ascii ? ascii : sign), style);
    line.add(fmt::format(" {}  ", what));
  };
  part("█", "#", "containers", Style::kContainers);
  part("▓", "h", "host processes", Style::kHost);
  part("▒", "?", "processes whose owner is unknown", Style::kUnknown);
  part("░", "u", "unattributed: no process's", Style::kUnattributed);
  part("╌", "r", "the driver's", Style::kReserved);
  return line;
}

}  // namespace

std::vector<Line> help_lines(const Signs& signs) {
  std::vector<Line> lines;
  lines.push_back(line_of("Keys", Style::kHeader));
  for (const auto& [key, what] : kKeys)
    lines.push_back(line_of(fmt::format("  {:<22}{}", key, what)));
  lines.push_back(line_of("Signs", Style::kHeader));
  lines.push_back(signs_line(signs));
  lines.push_back(line_of("?  unknown, which is not 0    -  there is none"));
  lines.push_back(line_of("~  estimated from the driver's samples: no share of one program"));
  lines.push_back(line_of("PROM  GPU time promised    WAIT  time waited for the GPU"));
  lines.push_back(
      line_of("Filter: mem>8Gi & ns=team* & !(mechanism=mig | tier=gold)", Style::kHeader));
  for (const auto& [name, what] : filter_fields()) {
    lines.push_back(line_of(fmt::format("  {:<12}{}", name, what)));
  }
  return lines;
}

}  // namespace tranche::top
