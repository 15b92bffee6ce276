#include "sim/cuda/block.h"

#include <algorithm>

#include "sim/cuda/address_space.h"
#include "sim/cuda/driver.h"
#include "sim/gpu/memory.h"

namespace tranche::sim::cuda {
namespace {

constexpr std::uint64_t kAlignment = 512;  // of allocations

}  // namespace

std::shared_ptr<Block> Block::make(Device& device, std::uint64_t size, bool shared) {
  Driver& owner = *device.driver;
  if (!owner.hold(device)) return nullptr;
  auto block = std::make_shared<Block>(device);
  const std::uint64_t room = owner.room_for(device);
  if (size > room || !take_memory(*owner.sim, *device.use, size)) return nullptr;
  block->size_ = size;
  block->is_counted_ = true;
  if (!shared) {
    block->bytes_ = device.vram->take(size);
    return block->bytes_ == nullptr ? nullptr : block;
  }
  auto file = make_shared_file(owner.label_of(device, size));
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
  if (!device.driver->hold(device)) return nullptr;
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
  if (is_counted_) give_memory(*device_.driver->sim, *device_.use, size_);
  device_.driver->drop(device_);
}

Heap::~Heap() {
  while (!chunks_.empty()) drop(chunks_.begin());
}

std::optional<Piece> Heap::take(std::uint64_t size) {
  const std::uint64_t wanted = round_up(size, kAlignment);
  if (wanted < size) return std::nullopt;
  const bool single = size >= options_.own_pages_from;
  if (!single) {
    for (Chunk& chunk : chunks_) {
      if (chunk.is_single || chunk.places.free_bytes() < wanted) continue;
      if (auto piece = take_from(chunk, wanted)) return piece;
    }
  }
  const std::uint64_t pages = round_up(wanted, kPage);
  if (pages < wanted) return std::nullopt;
  auto block = Block::make(device_, pages, false);
  if (!block) return std::nullopt;
  const auto address = space_.reserve(pages, kPage, 0);
  if (!address) return std::nullopt;
  chunks_.push_back({.block = std::move(block),
                     .address = *address,
                     .places = Arena(0, pages),
                     .is_single = single});
  held_ += pages;
  return take_from(chunks_.back(), single ? pages : wanted);
}

std::optional<Piece> Heap::take_from(Chunk& chunk, std::uint64_t size) {
  const auto place = chunk.places.take(size, kAlignment);
  if (!place) return std::nullopt;
  return Piece{
      .block = chunk.block, .offset = *place, .address = chunk.address + *place, .size = size};
}

void Heap::give(const Piece& piece) {
  const auto chunk = std::ranges::find(chunks_, piece.block, &Chunk::block);
  if (chunk == chunks_.end()) return;
  chunk->places.give(piece.offset, piece.size);
  if (chunk->places.is_empty() && !options_.keeps_pages) drop(chunk);
}

void Heap::trim(std::uint64_t keep) {
  for (auto chunk = chunks_.begin(); chunk != chunks_.end() && held_ > keep;) {
    const auto next = std::next(chunk);
    if (chunk->places.is_empty()) drop(chunk);
    chunk = next;
  }
}

void Heap::drop(Chunks::iterator chunk) {
  held_ -= chunk->block->size();
  space_.release(chunk->address, chunk->block->size());
  chunks_.erase(chunk);
}

}  // namespace tranche::sim::cuda
