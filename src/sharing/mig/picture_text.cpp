// text_picture of mig/picture.h: boxes of line-drawing characters.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "mig/picture.h"
#include "mig/place.h"

namespace tranche::mig {
namespace {

using Area = PictureCell::Area;

constexpr int kColumns = 80;
constexpr int kMargin = 10;  // for the name of a row
constexpr int kMostWidth = kColumns - kMargin - 1;

// The width of a memory slice with its left border.
int width_of_slice(const std::vector<PictureRow>& rows) {
  const int slices = std::max(1, rows.front().cells.back().to);
  return std::min(12, kMostWidth / slices);
}

std::string repeated(std::string_view text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

// By the GPU instance's compute slices, so that colours mean the same on every GPU.
std::string_view colour_of(const PictureCell& cell) {
  constexpr std::array<std::string_view, 8> kInstances = {"36", "36", "32", "34",
                                                          "35", "33", "33", "33"};
  if (cell.area == Area::kStranded) return "31";
  if (cell.area == Area::kFree) return "2";
  return kInstances[static_cast<std::size_t>(std::clamp(cell.slices, 0, 7))];
}

std::string coloured(std::string text, const PictureCell& cell, bool colour) {
  if (!colour) return text;
  const auto weight = cell.area == Area::kInstance ? "1;" : "";
  return fmt::format("\x1b[{}{}m{}\x1b[0m", weight, colour_of(cell), text);
}

// "1g.10gb+me" in a narrow box: "1g.10gb", and "+me" below it.
std::array<std::string, 2> lines_of(const PictureCell& cell, int inside) {
  const auto fits = [&](std::string_view text) { return static_cast<int>(text.size()) <= inside; };
  const auto suffix = cell.name.find_first_of("+-");
  if (!fits(cell.name) && suffix != std::string::npos) {
    return {cell.name.substr(0, suffix), cell.name.substr(suffix)};
  }
  return {cell.name, fits(cell.note) ? cell.note : ""};
}

std::string text_line(const PictureRow& row, std::size_t line, int width, bool colour) {
  std::string text = fmt::format("{:<{}}", line == 0 ? "  " + row.name : "", kMargin);
  for (const auto& cell : row.cells) {
    const int inside = (cell.to - cell.from) * width - 1;
    auto words = lines_of(cell, inside)[line].substr(0, static_cast<std::size_t>(inside));
    auto filled =
        cell.area == Area::kStranded ? repeated("░", inside) : fmt::format("{:^{}}", words, inside);
    text += "│" + coloured(std::move(filled), cell, colour);
  }
  return text + "│\n";
}

// The line above (or below) a row, with a joint at every border.
std::string border(const PictureRow& row, int width, std::string_view left, std::string_view joint,
                   std::string_view right) {
  std::string text = repeated(" ", kMargin);
  for (const auto& cell : row.cells) {
    text += cell.from == row.cells.front().from ? left : joint;
    text += repeated("─", (cell.to - cell.from) * width - 1);
  }
  return fmt::format("{}{}\n", text, right);
}

bool has_second_line(const PictureRow& row, int width) {
  return std::ranges::any_of(row.cells, [&](const PictureCell& cell) {
    return !lines_of(cell, (cell.to - cell.from) * width - 1)[1].empty();
  });
}

std::string box(const PictureRow& row, int width, bool colour) {
  std::string text = border(row, width, "┌", "┬", "┐") + text_line(row, 0, width, colour);
  if (has_second_line(row, width)) text += text_line(row, 1, width, colour);
  return text + border(row, width, "└", "┴", "┘");
}

std::string numbers(int slices, int width) {
  std::string text = repeated(" ", kMargin);
  for (int i = 0; i < slices; ++i) text += fmt::format(" {:^{}}", i, width - 1);
  return text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
}

std::string picture(const PicturedGpu& gpu, bool colour) {
  if (gpu.geometry.empty()) return gpu.title + ": no MIG\n";
  const auto rows = rows_of(gpu.layout, gpu.geometry);
  const int width = width_of_slice(rows);
  const auto layout = describe(gpu.layout, gpu.geometry);
  const bool one_line = gpu.title.size() + 2 + layout.size() <= kColumns;
  auto text = fmt::format("{}:{}{}\n{}", gpu.title, one_line ? " " : "\n  ", layout,
                          numbers(gpu.geometry.memory_slices, width));
  for (const auto& row : rows) text += box(row, width, colour);
  const auto lost = describe(stranded(gpu.layout, gpu.geometry));
  if (!lost.empty()) {
    const PictureCell sample{.area = Area::kStranded};
    text += fmt::format("  {} stranded: {}, which no instance can use\n",
                        coloured("░", sample, colour), lost);
  }
  return text;
}

}  // namespace

std::string text_picture(const std::vector<PicturedGpu>& gpus, bool colour) {
  std::string text;
  for (const auto& gpu : gpus) {
    if (!text.empty()) text += "\n";
    text += picture(gpu, colour);
  }
  return text;
}

}  // namespace tranche::mig
