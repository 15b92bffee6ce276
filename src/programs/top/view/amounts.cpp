#include "top/view/amounts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/amounts.h"

namespace tranche::top {
namespace {

constexpr double kMebi = 1U << 20U;
constexpr double kGibi = 1U << 30U;

constexpr std::array<std::string_view, 8> kSteps = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array<std::string_view, 8> kAsciiSteps = {"_", ".", ":", "-", "=", "+", "*", "#"};

// Columns of each part, so that they add up to at most `width`.
std::vector<std::size_t> widths_of(const std::vector<BarPart>& parts, double whole,
                                   std::size_t width) {
  std::vector<std::size_t> widths;
  std::size_t left = width;
  double sum = 0;
  std::size_t end = 0;  // columns up to here, rounded once from the sum
  for (const auto& part : parts) {
    sum += std::max(0.0, part.amount);
    const auto exact = std::clamp(sum / whole, 0.0, 1.0) * static_cast<double>(width);
    const auto until = std::max(end, static_cast<std::size_t>(std::lround(exact)));
    auto wide = until - end;
    end = until;
    if (wide == 0 && part.amount > 0) wide = 1;
    wide = std::min(wide, left);
    left -= wide;
    widths.push_back(wide);
  }
  return widths;
}

}  // namespace

std::string bytes_text(std::uint64_t bytes) {
  const auto amount = static_cast<double>(bytes);
  if (bytes == 0) return "0";
  if (amount < kMebi) return "<1Mi";
  if (amount < 10 * kGibi) return fmt::format("{}Mi", bytes >> 20U);
  if (amount < 1000 * kGibi) return fmt::format("{:.2f}Gi", amount / kGibi);
  return fmt::format("{:.1f}Ti", amount / kGibi / 1024);
}

std::string share_text(double share) {
  if (!std::isfinite(share)) return std::string(kUnknownText);
  const double percent = std::clamp(share * 100, -9999.0, 9999.0);
  if (percent > 0 && percent < 0.5) return "<1%";
  return fmt::format("{:.0f}%", percent);
}

std::string seconds_text(double seconds) {
  if (seconds < 0) seconds = 0;
  if (seconds < 9.95) return fmt::format("{:.1f}s", seconds);
  return age_text(std::lround(std::min(seconds, 1e12)));
}

Style style_of_fill(double part) {
  if (!std::isfinite(part)) return Style::kUnknown;
  if (part >= 0.9) return Style::kBad;
  return part >= 0.75 ? Style::kWarning : Style::kPlain;
}

std::vector<Span> bar(const std::vector<BarPart>& parts, double whole, std::size_t width,
                      const Signs& signs, std::optional<double> mark) {
  if (width == 0) return {};
  if (!(whole > 0)) return {{std::string(width, ' '), Style::kDim}};
  const auto widths = widths_of(parts, whole, width);
  std::vector<Span> cells;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto sign = signs.ascii ? parts[i].ascii : parts[i].sign;
    cells.insert(cells.end(), widths[i], {std::string(sign), parts[i].style});
  }
  cells.resize(width, {signs.ascii ? "." : "·", Style::kDim});
  if (mark && *mark > 0) {
    const auto at = std::clamp(*mark / whole, 0.0, 1.0) * static_cast<double>(width);
    const auto index = std::min(width - 1, static_cast<std::size_t>(at));
    cells[index] = {signs.ascii ? "|" : "▏", Style::kWarning};
  }
  std::vector<Span> joined;
  for (auto& cell : cells) {
    if (!joined.empty() && joined.back().style == cell.style) {
      joined.back().text += cell.text;
    } else {
      joined.push_back(std::move(cell));
    }
  }
  return joined;
}

std::string sparkline(const std::vector<std::optional<double>>& values, const Signs& signs) {
  const auto& steps = signs.ascii ? kAsciiSteps : kSteps;
  std::string text;
  for (const auto& value : values) {
    if (!value || !std::isfinite(*value)) {
      text += ' ';
      continue;
    }
    const auto step =
        std::lround(std::clamp(*value, 0.0, 1.0) * static_cast<double>(steps.size() - 1));
    text += steps[static_cast<std::size_t>(step)];
  }
  return text;
}

}  // namespace tranche::top
