#pragma once
// Physical memory of a device. The driver's lock is held.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "sim/cuda/vram.h"

namespace tranche::sim::cuda {

struct Device;

// Whole pages, counted in the shared state for as long as any process holds them: this one or, if
// shared, any.
class Block {
 public:
  // nullptr: the device (all processes together) lacks that much memory. `shared`: other processes
  // can map it.
  static std::shared_ptr<Block> make(Device& device, std::uint64_t size, bool shared);
  // A part of another process's memory, which is charged for it. nullptr: cannot be mapped.
  static std::shared_ptr<Block> open(Device& device, OwnedFd file, std::uint64_t offset,
                                     std::uint64_t size);
  // Shared memory created by this or another process. nullptr: cannot be mapped, or only the
  // descriptor held it and there is no more room for it.
  static std::shared_ptr<Block> import(Device& device, OwnedFd file, SharedMemoryLabel label);
  explicit Block(Device& device) : device_(device) {}
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  Device& device() const { return device_; }
  std::byte* bytes() const { return bytes_; }
  std::uint64_t size() const { return size_; }
  // A file with only these bytes; -1 if they are a piece of the device's file.
  int file() const { return file_.get(); }

 private:
  bool make_shared(std::uint64_t size);
  bool map(OwnedFd file, std::uint64_t offset, std::uint64_t size);

  Device& device_;
  std::byte* bytes_ = nullptr;
  std::uint64_t size_ = 0;
  bool is_counted_ = false;
  SharedMemoryId shared_ = {};
  OwnedFd file_;
  Mapping mapping_;
};

// A part of a block, with an address.
struct Piece {
  std::shared_ptr<Block> block;
  std::uint64_t offset = 0;
  std::uint64_t address = 0;
  std::uint64_t size = 0;  // size taken, which may exceed the requested one

  std::byte* bytes() const { return block->bytes() + offset; }
};

}  // namespace tranche::sim::cuda
