#include "sim/cuda/arena.h"

#include <iterator>

namespace tranche::sim::cuda {

std::optional<std::uint64_t> Arena::take(std::uint64_t size, std::uint64_t alignment) {
  for (auto hole = free_.begin(); hole != free_.end(); ++hole) {
    const std::uint64_t place = round_up(hole->first, alignment);
    const std::uint64_t end = hole->first + hole->second;
    if (place < hole->first || place > end || end - place < size) continue;
    cut(hole, place, size);
    return place;
  }
  return std::nullopt;
}

bool Arena::take_at(std::uint64_t place, std::uint64_t size) {
  auto hole = free_.upper_bound(place);
  if (hole == free_.begin()) return false;
  --hole;
  const std::uint64_t end = hole->first + hole->second;
  if (place > end || end - place < size) return false;
  cut(hole, place, size);
  return true;
}

void Arena::cut(std::map<std::uint64_t, std::uint64_t>::iterator hole, std::uint64_t place,
                std::uint64_t size) {
  const std::uint64_t begin = hole->first;
  const std::uint64_t end = begin + hole->second;
  free_.erase(hole);
  if (begin < place) free_[begin] = place - begin;
  if (place + size < end) free_[place + size] = end - place - size;
  free_bytes_ -= size;
}

void Arena::give(std::uint64_t place, std::uint64_t size) {
  free_bytes_ += size;
  auto next = free_.lower_bound(place);
  if (next != free_.end() && place + size == next->first) {
    size += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == place) {
      before->second += size;
      return;
    }
  }
  free_[place] = size;
}

}  // namespace tranche::sim::cuda
