#pragma once
// Tracks which parts of a range of numbers are free: first fit, neighbours are merged. Used for
// physical memory, for addresses, and for small allocations inside a page. Not thread-safe.

#include <cstdint>
#include <map>
#include <optional>

namespace tranche::sim::cuda {

class Arena {
 public:
  Arena(std::uint64_t begin, std::uint64_t size) : begin_(begin), size_(size), free_bytes_(size) {
    free_[begin] = size;
  }

  // The lowest free place of `size` at a multiple of `alignment` (a power of two).
  std::optional<std::uint64_t> take(std::uint64_t size, std::uint64_t alignment);
  // Exactly at `place`; false if part of it is taken.
  bool take_at(std::uint64_t place, std::uint64_t size);
  void give(std::uint64_t place, std::uint64_t size);

  bool is_empty() const { return free_bytes_ == size_; }
  std::uint64_t free_bytes() const { return free_bytes_; }
  std::uint64_t begin() const { return begin_; }
  std::uint64_t size() const { return size_; }

 private:
  void cut(std::map<std::uint64_t, std::uint64_t>::iterator hole, std::uint64_t place,
           std::uint64_t size);

  std::uint64_t begin_;
  std::uint64_t size_;
  std::uint64_t free_bytes_;
  std::map<std::uint64_t, std::uint64_t> free_;  // begin -> size
};

inline std::uint64_t round_up(std::uint64_t value, std::uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace tranche::sim::cuda
