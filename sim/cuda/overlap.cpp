#include "sim/cuda/overlap.h"

#include <algorithm>

namespace tranche::sim::cuda {

std::uint64_t Overlap::place(const Kernel& kernel, std::uint64_t executed) {
  std::erase_if(pieces_, [&](const Piece& piece) { return piece.end <= executed; });
  const std::uint64_t begin = begin_of(kernel, std::max({kernel.after, executed, filled_}));
  pieces_.push_back({begin, begin + kernel.length, kernel.width});
  return begin + kernel.length;
}

// Room only becomes free at ends.
std::uint64_t Overlap::begin_of(const Kernel& kernel, std::uint64_t earliest) const {
  std::vector<std::uint64_t> begins = {earliest};
  for (const Piece& piece : pieces_) {
    if (piece.end > earliest) begins.push_back(piece.end);
  }
  std::ranges::sort(begins);
  const auto fits = [&](std::uint64_t begin) {
    // Others that begin within it take room from there on.
    return has_room(begin, kernel.width) && std::ranges::all_of(pieces_, [&](const Piece& piece) {
             return piece.begin <= begin || piece.begin >= begin + kernel.length ||
                    has_room(piece.begin, kernel.width);
           });
  };
  return *std::ranges::find_if(begins, fits);  // there is room after the last end
}

bool Overlap::has_room(std::uint64_t at, unsigned width) const {
  std::size_t count = 1;
  for (const Piece& piece : pieces_) {
    if (at < piece.begin || at >= piece.end) continue;
    width += piece.width;
    ++count;
  }
  return width <= kWhole && count <= kMostAtOnce;
}

}  // namespace tranche::sim::cuda
