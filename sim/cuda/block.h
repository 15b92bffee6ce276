#pragma once
// Physical memory of a device, and how a process shares out pages of it. The driver's lock is held.

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>

#include "sim/cuda/arena.h"
#include "sim/cuda/vram.h"

namespace tranche::sim::cuda {

struct Device;
class AddressSpace;

// Whole pages, counted in the shared state for as long as somebody holds them here.
class Block {
 public:
  // nullptr: the device (all processes together) has not got them. `shared`: other processes can
  // map it.
  static std::shared_ptr<Block> make(Device& device, std::uint64_t size, bool shared);
  // Memory that another process made and pays for. nullptr: cannot be mapped.
  static std::shared_ptr<Block> import(Device& device, OwnedFd file, std::uint64_t offset,
                                       std::uint64_t size);
  explicit Block(Device& device) : device_(device) {}
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  Device& device() const { return device_; }
  std::byte* bytes() const { return bytes_; }
  std::uint64_t size() const { return size_; }
  // A file that holds these bytes alone; -1 when they are a piece of the device's.
  int file() const { return file_.get(); }

 private:
  Device& device_;
  std::byte* bytes_ = nullptr;
  std::uint64_t size_ = 0;
  bool is_counted_ = false;
  OwnedFd file_;
  Mapping mapping_;
};

// A part of a block, with an address.
struct Piece {
  std::shared_ptr<Block> block;
  std::uint64_t offset = 0;
  std::uint64_t address = 0;
  std::uint64_t size = 0;  // taken, which may be more than asked

  std::byte* bytes() const { return block->bytes() + offset; }
};

struct HeapOptions {
  // From this size on an allocation has pages of its own, as cuMemAlloc does it.
  std::uint64_t own_pages_from = std::uint64_t{1} << 20U;
  // Empty pages stay until trim(), as in a pool.
  bool keeps_pages = false;
};

// Shares out pages among allocations.
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
  // Gives empty pages back to the device until no more than `keep` bytes are held.
  void trim(std::uint64_t keep);
  std::uint64_t held() const { return held_; }

 private:
  struct Chunk {
    std::shared_ptr<Block> block;
    std::uint64_t address = 0;
    Arena places;
    bool is_single = false;  // one allocation's own pages
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
