#pragma once
// Divides a process's device pages among its allocations. The driver's lock is held.

#include <cstdint>
#include <list>
#include <memory>
#include <optional>

#include "sim/cuda/arena.h"
#include "sim/cuda/block.h"

namespace tranche::sim::cuda {

class AddressSpace;

struct HeapOptions {
  // Allocations from this size on have their own pages, as with cuMemAlloc.
  std::uint64_t own_pages_from = std::uint64_t{1} << 20U;
  // Empty pages stay until trim(), as in a pool.
  bool keeps_pages = false;
};

// Divides pages among allocations.
class Heap {
 public:
  Heap(Device& device, AddressSpace& space, HeapOptions options)
      : device_(device), space_(space), options_(options) {}
  ~Heap();
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  // nullopt: out of memory.
  std::optional<Piece> take(std::uint64_t size);
  void give(const Piece& piece);
  // Returns empty pages to the device until at most `keep` bytes are held.
  void trim(std::uint64_t keep);
  std::uint64_t held() const { return held_; }

 private:
  struct Chunk {
    std::shared_ptr<Block> block;
    std::uint64_t address = 0;
    Arena places;
    bool is_single = false;  // the pages of a single allocation
  };
  using Chunks = std::list<Chunk>;

  std::optional<Piece> take_from(Chunk& chunk, std::uint64_t size);
  void drop(Chunks::iterator chunk);

  Device& device_;
  AddressSpace& space_;
  HeapOptions options_;
  Chunks chunks_;
  std::uint64_t held_ = 0;
};

}  // namespace tranche::sim::cuda
