#include "sim/cuda/heap.h"

#include <algorithm>

#include "sim/cuda/address_space.h"

namespace tranche::sim::cuda {
namespace {

constexpr std::uint64_t kAlignment = 512;  // of allocations

}  // namespace

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
