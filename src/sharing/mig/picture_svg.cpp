// svg_picture of mig/picture.h: a plain SVG, without a font, style sheet or script of its own.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "mig/picture.h"
#include "mig/place.h"

namespace tranche::mig {
namespace {

using Area = PictureCell::Area;

constexpr int kWidth = 840;
constexpr int kLeft = 96;   // of the slices; row names are left of it
constexpr int kRight = 24;  // margin
constexpr int kRow = 46;
constexpr int kGap = 6;
constexpr int kHead = 80;  // title, layout and numbers of a GPU
constexpr int kFoot = 40;  // stranded slices, and space
constexpr std::string_view kFont = "ui-sans-serif, system-ui, 'DejaVu Sans', sans-serif";

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '&') {
      out += "&amp;";
    } else {
      out += c;
    }
  }
  return out;
}

std::string_view fill_of(const PictureCell& cell) {
  constexpr std::array<std::string_view, 8> kInstances = {
      "#9bd3e0", "#9bd3e0", "#a9d99b", "#a3b8ef", "#d3a9e4", "#f0cf8a", "#f0cf8a", "#f0cf8a"};
  if (cell.area == Area::kStranded) return "url(#stranded)";
  if (cell.area == Area::kFree) return "#ffffff";
  return kInstances[static_cast<std::size_t>(std::clamp(cell.slices, 0, 7))];
}

std::string text_at(double x, double y, std::string_view text, std::string_view more) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", x, y, more, escaped(text));
}

std::string cell_at(const PictureCell& cell, double slice, int y) {
  const double x = kLeft + cell.from * slice;
  const double width = (cell.to - cell.from) * slice;
  auto svg = fmt::format(
      "<rect x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" rx=\"4\" fill=\"{}\" "
      "stroke=\"#57606a\"{}/>\n",
      x + 1, y, width - 2, kRow, fill_of(cell),
      cell.area == Area::kFree ? " stroke-dasharray=\"4 3\"" : "");
  const double middle = x + width / 2;
  constexpr std::string_view kCentred = "text-anchor=\"middle\"";
  const bool two = !cell.note.empty();
  if (!cell.name.empty()) {
    // A long name in a narrow cell is drawn narrower instead of over the border.
    const bool narrow = static_cast<double>(cell.name.size()) * 9.0 > width - 8;
    const auto squeezed = fmt::format("{} textLength=\"{:.0f}\" lengthAdjust=\"spacingAndGlyphs\"",
                                      kCentred, width - 8);
    svg += text_at(middle, y + (two ? 20 : 28), cell.name, narrow ? squeezed : kCentred);
  }
  if (two) svg += text_at(middle, y + 37, cell.note, "text-anchor=\"middle\" font-size=\"12\"");
  return svg;
}

std::string gpu_at(const PicturedGpu& gpu, int y) {
  auto svg = text_at(24, y + 24, gpu.title, "font-weight=\"bold\"");
  if (gpu.geometry.empty()) return svg + text_at(24, y + 46, "no MIG", "fill=\"#57606a\"");
  svg += text_at(24, y + 46, describe(gpu.layout, gpu.geometry), "");
  const double slice = static_cast<double>(kWidth - kLeft - kRight) / gpu.geometry.memory_slices;
  for (int i = 0; i < gpu.geometry.memory_slices; ++i) {
    svg += text_at(kLeft + (i + 0.5) * slice, y + 72, fmt::format("{}", i),
                   "text-anchor=\"middle\" font-size=\"12\" fill=\"#57606a\"");
  }
  int top = y + kHead;
  for (const auto& row : rows_of(gpu.layout, gpu.geometry)) {
    svg += text_at(24, top + 28, row.name, "fill=\"#57606a\"");
    for (const auto& cell : row.cells) svg += cell_at(cell, slice, top);
    top += kRow + kGap;
  }
  const auto lost = describe(stranded(gpu.layout, gpu.geometry));
  if (lost.empty()) return svg;
  return svg + text_at(kLeft, top + 14,
                       fmt::format("stranded: {}, which no instance can use", lost),
                       "font-size=\"12\" fill=\"#a40e26\"");
}

}  // namespace

std::string svg_picture(const std::vector<PicturedGpu>& gpus) {
  constexpr int kHeight = kHead + 2 * (kRow + kGap) + kFoot;
  std::string body;
  int y = 0;
  for (const auto& gpu : gpus) {
    body += gpu_at(gpu, y);
    y += gpu.geometry.empty() ? kHead : kHeight;
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} "
      "{1}\" font-family=\"{2}\" font-size=\"14\" fill=\"#1f2328\">\n"
      "<defs><pattern id=\"stranded\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\" "
      "patternTransform=\"rotate(45)\"><rect width=\"8\" height=\"8\" fill=\"#ffe3e3\"/><rect "
      "width=\"3\" height=\"8\" fill=\"#e5737d\"/></pattern></defs>\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n{3}</svg>\n",
      kWidth, y, kFont, body);
}

}  // namespace tranche::mig
