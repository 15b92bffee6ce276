#include "top/view/table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"
#include "top/view/amounts.h"

namespace tranche::top {
namespace {

constexpr std::size_t kNarrowestName = 14;
constexpr std::size_t kUsualName = 48;
constexpr std::size_t kUsualBar = 12;
constexpr std::size_t kWidestBar = 40;

struct Cell {
  std::string text;
  Style style = Style::kPlain;
};
const Cell kNone{"-", Style::kDim};  // it has none
const Cell kBlank{"", Style::kDim};  // rows of its kind have none
const Cell kNotKnown{std::string(kUnknownText), Style::kUnknown};

bool is(const Row& row, auto... kinds) { return ((row.kind == kinds) || ...); }

Cell bytes_cell(const std::optional<std::uint64_t>& bytes) {
  if (!bytes) return kNotKnown;
  return {bytes_text(*bytes), *bytes == 0 ? Style::kDim : Style::kPlain};
}

Cell used_cell(const Row& row) {
  if (is(row, RowKind::kInstance)) return kBlank;
  const auto figures = figures_of(row);
  auto cell = bytes_cell(figures.used);
  if (figures.used && figures.limit.value_or(0) > 0) {
    const auto style =
        style_of_fill(static_cast<double>(*figures.used) / static_cast<double>(*figures.limit));
    if (style != Style::kPlain) cell.style = style;
  }
  return cell;
}

// Of a container without a limit: none. Of a GPU: all that it has.
Cell limit_cell(const Row& row) {
  if (is(row, RowKind::kProcess)) return kBlank;
  const auto limit = figures_of(row).limit;
  if (limit) return {bytes_text(*limit)};
  return is(row, RowKind::kContainer) ? kNone : kNotKnown;
}

Cell peak_cell(const Row& row) {
  if (!is(row, RowKind::kContainer)) return kBlank;
  const auto figures = figures_of(row);
  auto cell = bytes_cell(figures.peak);
  if (figures.peak && figures.limit.value_or(0) > 0 &&
      static_cast<double>(*figures.peak) >= 0.9 * static_cast<double>(*figures.limit)) {
    cell.style = Style::kWarning;
  }
  return cell;
}

Cell compute_cell(const Row& row) {
  // The driver says nothing of a GPU in MIG mode, or of its instances.
  const bool mig = row.gpu != nullptr && row.gpu->mig;
  const auto share = figures_of(row).compute;
  if (!share)
    return (mig && is(row, RowKind::kGpu)) || is(row, RowKind::kInstance) ? kNone : kNotKnown;
  // By the driver's samples it is no share of one program, only of the time that somebody ran.
  const bool estimated =
      (row.container != nullptr && row.process == nullptr && row.container->compute_estimated) ||
      is(row, RowKind::kProcess);
  const auto text = share_text(*share);
  return {estimated && *share > 0 ? "~" + text : text, *share == 0 ? Style::kDim : Style::kPlain};
}

Cell promised_cell(const Row& row) {
  if (!is(row, RowKind::kContainer)) return kBlank;
  const auto share = figures_of(row).promised;
  return share ? Cell{share_text(*share)} : kNone;
}

Cell waited_cell(const Row& row) {
  if (!is(row, RowKind::kContainer)) return kBlank;
  const auto share = figures_of(row).waited;
  if (!share) return kNotKnown;
  return {share_text(*share), *share == 0 ? Style::kDim : style_of_fill(*share)};
}

Cell mechanism_cell(const Row& row) {
  if (!is(row, RowKind::kContainer)) return kBlank;
  const auto mechanism = row.container->mechanism;
  if (mechanism == usage::Mechanism::kNone) return {"no grant", Style::kWarning};
  return {std::string(to_string(mechanism))};
}

Cell tier_cell(const Row& row) {
  if (!is(row, RowKind::kContainer)) return kBlank;
  if (row.container->tier.empty()) return kNone;
  return {printable(row.container->tier, 100)};
}

Cell heat_cell(const Row& row) {
  if (!is(row, RowKind::kGpu)) return kBlank;
  if (!row.gpu->temperature_c) return kNotKnown;
  const double heat = *row.gpu->temperature_c;
  return {fmt::format("{:.0f}C", std::clamp(heat, -999.0, 9999.0)), heat >= 85   ? Style::kBad
                                                                    : heat >= 75 ? Style::kWarning
                                                                                 : Style::kPlain};
}

Cell power_cell(const Row& row) {
  if (!is(row, RowKind::kGpu)) return kBlank;
  if (!row.gpu->power_w) return kNotKnown;
  return {fmt::format("{:.0f}W", std::clamp(*row.gpu->power_w, -999.0, 99999.0))};
}

// "0.25" of a GPU.
Cell gpus_cell(const Row& row) {
  if (!is(row, RowKind::kContainer)) return kBlank;
  return {fmt::format("{:.3g}", std::clamp(row.container->gpus, 0.0, 9999.0))};
}

std::vector<Span> memory_bar(const Row& row, std::size_t width, const Signs& signs) {
  const auto figures = figures_of(row);
  if (is(row, RowKind::kGpu) && row.gpu->memory) {
    const auto& memory = *row.gpu->memory;
    return bar({{static_cast<double>(memory.containers), "█", "#", Style::kContainers},
                {static_cast<double>(memory.host_processes), "▓", "h", Style::kHost},
                {static_cast<double>(memory.unknown), "▒", "?", Style::kUnknown},
                {static_cast<double>(memory.unattributed), "░", "u", Style::kUnattributed},
                {static_cast<double>(memory.reserved), "╌", "r", Style::kReserved}},
               static_cast<double>(memory.total), width, signs);
  }
  auto whole = figures.limit;
  if (!whole && row.instance != nullptr) whole = row.instance->memory;
  if (!whole && row.gpu != nullptr) whole = row.gpu->memory_total;
  if (!figures.used || !whole) return bar({}, 0, width, signs);
  const double used = static_cast<double>(*figures.used);
  const double all = static_cast<double>(*whole);
  auto style = style_of_fill(all > 0 ? used / all : 0);
  if (style == Style::kPlain) style = Style::kContainers;
  const auto peak = figures.peak && *figures.peak > *figures.used
                        ? std::optional(static_cast<double>(*figures.peak))
                        : std::nullopt;
  return bar({{used, "█", "#", style}}, all, width, signs, peak);
}

std::string history_of(const Row& row, const History& history, std::size_t width,
                       const Signs& signs) {
  if (!is(row, RowKind::kGpu, RowKind::kContainer)) return std::string(width, ' ');
  return sparkline(history.of(row.id, width), signs);
}

}  // namespace

struct Table::Column {
  std::string_view title;
  std::size_t width;
  int rank;  // the highest gives way first
  Align align = Align::kRight;
  Cell (*cell)(const Row& row) = nullptr;  // null: the bar, or the history
};

const std::vector<Table::Column>& Table::all_columns() {
  static const std::vector<Column> columns = {
      {"MEMORY", 10, 3, Align::kLeft},  // as wide as there is room
      {"USED", 8, 0, Align::kRight, used_cell},
      {"LIMIT", 8, 1, Align::kRight, limit_cell},
      {"PEAK", 8, 7, Align::kRight, peak_cell},
      {"GPU%", 5, 2, Align::kRight, compute_cell},
      {"PROM", 4, 5, Align::kRight, promised_cell},
      {"WAIT", 4, 4, Align::kRight, waited_cell},
      {"LAST MINUTE", 12, 6, Align::kLeft},
      {"BY", 12, 8, Align::kLeft, mechanism_cell},
      {"TIER", 10, 10, Align::kLeft, tier_cell},
      {"GPUS", 5, 9, Align::kRight, gpus_cell},
      {"TEMP", 5, 11, Align::kRight, heat_cell},
      {"POWER", 6, 12, Align::kRight, power_cell},
  };
  return columns;
}

Table::Table(std::size_t width, const Settings& settings, const History& history, bool nodes)
    : settings_(settings), history_(history), nodes_(nodes) {
  choose(width);
}

// As many columns as leave the name its share. What is left over goes to the bar and the name in
// turn: Kubernetes' names are long.
void Table::choose(std::size_t width) {
  for (const auto& column : all_columns()) columns_.push_back(&column);
  const auto name = std::max(kNarrowestName, std::min<std::size_t>(width / 3, 40));
  const auto needed = [&] {
    std::size_t sum = 0;
    for (const auto* column : columns_) sum += column->width + 1;
    return sum;
  };
  while (!columns_.empty() && needed() + name > width) {
    columns_.erase(std::ranges::max_element(columns_, {}, &Column::rank));
  }
  auto left = width - std::min(width, needed());
  const auto widen = [&](std::size_t& part, std::size_t most) {
    const auto more = std::min(left, most - std::min(most, part));
    part += more;
    left -= more;
  };
  const auto bar = std::ranges::find(columns_, "MEMORY", &Column::title);
  const bool has_bar = bar != columns_.end();
  bar_width_ = has_bar ? (*bar)->width : 0;
  widen(name_width_, name);
  if (has_bar) widen(bar_width_, kUsualBar);
  widen(name_width_, kUsualName);
  if (has_bar) widen(bar_width_, kWidestBar);
  name_width_ += left;
}

Line Table::header() const {
  Line line;
  line.add(fitted("NAME", name_width_, Align::kLeft, settings_.signs), Style::kHeader);
  for (const auto* column : columns_) {
    const bool is_bar = column->title == "MEMORY";
    line.add(" " + fitted(column->title, is_bar ? bar_width_ : column->width, column->align,
                          settings_.signs),
             Style::kHeader);
  }
  return line;
}

void Table::add_name(const Row& row, Line& line) const {
  std::string text(2 * row.depth, ' ');
  if (settings_.tree) {
    const auto sign = row.closed ? settings_.signs.closed() : settings_.signs.open();
    text += row.has_children ? std::string(sign) + " " : "  ";
  }
  text += name_of(row);
  if (!settings_.tree && row.gpu != nullptr) {
    text += nodes_ ? fmt::format(" @{}:{}", printable(row.node->name, 100), row.gpu->index)
                   : fmt::format(" @{}", row.gpu->index);
  }
  const bool silent = row.kind == RowKind::kNode && row.node->reporting != fleet::Reporting::kFresh;
  if (silent) text += fmt::format(" ({})", to_string(row.node->reporting));
  if (row.kind == RowKind::kNode && !row.node->closed.empty()) {
    text += fmt::format(" [{}]", printable(row.node->closed, 100));
  }
  if (row.kind == RowKind::kGpu && row.gpu->last_xid) {
    text += fmt::format(" XID {}", *row.gpu->last_xid);
  }
  const auto style = silent                                   ? Style::kUnknown
                     : row.kind == RowKind::kProcess          ? Style::kDim
                     : is(row, RowKind::kNode, RowKind::kGpu) ? Style::kStrong
                                                              : Style::kPlain;
  line.add(fitted(text, name_width_, Align::kLeft, settings_.signs), style);
}

Line Table::line(const Row& row) const {
  Line line;
  add_name(row, line);
  for (const auto* column : columns_) {
    line.add(" ");
    if (column->title == "MEMORY") {
      for (auto& span : memory_bar(row, bar_width_, settings_.signs)) {
        line.add(std::move(span.text), span.style);
      }
    } else if (column->cell == nullptr) {
      line.add(history_of(row, history_, column->width, settings_.signs), Style::kGood);
    } else {
      auto cell = column->cell(row);
      line.add(fitted(cell.text, column->width, column->align, settings_.signs), cell.style);
    }
  }
  return line;
}

}  // namespace tranche::top
