#include "sim/cuda/block.h"

#include "sim/cuda/device.h"
#include "sim/gpu/memory.h"

namespace tranche::sim::cuda {

std::shared_ptr<Block> Block::make(Device& device, std::uint64_t size, bool shared) {
  if (!device.hold()) return nullptr;
  auto block = std::make_shared<Block>(device);
  if (size > device.room()) return nullptr;
  if (shared) return block->make_shared(size) ? block : nullptr;
  if (!take_memory(device.owner.sim, *device.use, size)) return nullptr;
  block->size_ = size;
  block->is_counted_ = true;
  block->bytes_ = device.vram->take(size);
  return block->bytes_ == nullptr ? nullptr : block;
}

bool Block::make_shared(std::uint64_t size) {
  const auto memory = take_shared_memory(device_.owner.sim, device_.owner.slot, *device_.use, size);
  if (!memory) return false;
  shared_ = *memory;
  SharedMemoryLabel label = device_.label(size);
  label.memory = shared_;
  auto file = make_shared_file(label);
  return file && map(*std::move(file), 0, size);
}

bool Block::map(OwnedFd file, std::uint64_t offset, std::uint64_t size) {
  auto mapping = Mapping::map(file.get(), offset, size);
  if (!mapping) return false;
  file_ = std::move(file);
  mapping_ = *std::move(mapping);
  bytes_ = mapping_.bytes();
  size_ = size;
  return true;
}

std::shared_ptr<Block> Block::open(Device& device, OwnedFd file, std::uint64_t offset,
                                   std::uint64_t size) {
  if (!device.hold()) return nullptr;
  auto block = std::make_shared<Block>(device);
  return block->map(std::move(file), offset, size) ? block : nullptr;
}

std::shared_ptr<Block> Block::import(Device& device, OwnedFd file, SharedMemoryLabel label) {
  if (!device.hold()) return nullptr;
  auto block = std::make_shared<Block>(device);
  const auto& owner = device.owner;
  if (const auto held = hold_shared_memory(owner.sim, owner.slot, label.memory); !held) {
    if (held.error().code != Code::kNotFound || label.size > device.room()) return nullptr;
    const auto anew = take_shared_memory(owner.sim, owner.slot, *device.use, label.size);
    if (!anew) return nullptr;
    label.memory = *anew;
  }
  block->shared_ = label.memory;
  const bool is_labelled = write_label(file.get(), label).has_value();
  return is_labelled && block->map(std::move(file), 0, label.size) ? block : nullptr;
}

Block::~Block() {
  if (bytes_ != nullptr && file_.get() < 0) device_.vram->give(bytes_, size_);
  if (is_counted_) give_memory(device_.owner.sim, *device_.use, size_);
  if (shared_.serial != 0) drop_shared_memory(device_.owner.sim, device_.owner.slot, shared_);
  device_.drop();
}

}  // namespace tranche::sim::cuda
