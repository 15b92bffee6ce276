#include "sim/cuda/block.h"

#include "sim/cuda/device.h"
#include "sim/gpu/memory.h"

namespace tranche::sim::cuda {

std::shared_ptr<Block> Block::make(Device& device, std::uint64_t size, bool shared) {
  if (!device.hold()) return nullptr;
  auto block = std::make_shared<Block>(device);
  const std::uint64_t room = device.room();
  if (size > room || !take_memory(device.owner.sim, *device.use, size)) return nullptr;
  block->size_ = size;
  block->is_counted_ = true;
  if (!shared) {
    block->bytes_ = device.vram->take(size);
    return block->bytes_ == nullptr ? nullptr : block;
  }
  auto file = make_shared_file(device.label(size));
  if (!file) return nullptr;
  auto mapping = Mapping::map(file->get(), 0, size);
  if (!mapping) return nullptr;
  block->file_ = *std::move(file);
  block->mapping_ = *std::move(mapping);
  block->bytes_ = block->mapping_.bytes();
  return block;
}

std::shared_ptr<Block> Block::import(Device& device, OwnedFd file, std::uint64_t offset,
                                     std::uint64_t size) {
  if (!device.hold()) return nullptr;
  auto block = std::make_shared<Block>(device);
  auto mapping = Mapping::map(file.get(), offset, size);
  if (!mapping) return nullptr;
  block->file_ = std::move(file);
  block->mapping_ = *std::move(mapping);
  block->bytes_ = block->mapping_.bytes();
  block->size_ = size;
  return block;
}

Block::~Block() {
  if (bytes_ != nullptr && file_.get() < 0) device_.vram->give(bytes_, size_);
  if (is_counted_) give_memory(device_.owner.sim, *device_.use, size_);
  device_.drop();
}

}  // namespace tranche::sim::cuda
