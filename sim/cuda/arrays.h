#pragma once
// Arrays and mipmapped arrays: device memory with its own layout. Here the layout is row by row.

#include <array>
#include <map>
#include <memory>
#include <vector>

#include "sim/cuda/abi_memory.h"
#include "sim/cuda/block.h"

namespace tranche::sim::cuda {

struct Context;

// Start of a tile of a sparse array: layer and offsets in elements.
using TileKey = std::array<unsigned, 4>;

struct ArrayObject {
  std::uint64_t number = 0;
  std::weak_ptr<Context> context;
  abi::CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
  std::size_t element_bytes = 0;
  Piece piece;
  bool is_level = false;                            // a level of a mipmap, which owns the memory
  std::map<TileKey, std::shared_ptr<Block>> tiles;  // mappings into a sparse array

  bool is_sparse() const { return (descriptor.Flags & abi::CUDA_ARRAY3D_SPARSE) != 0; }
  std::size_t pitch() const { return descriptor.Width * element_bytes; }
  std::size_t rows() const { return descriptor.Height == 0 ? 1 : descriptor.Height; }
  std::size_t layers() const { return descriptor.Depth == 0 ? 1 : descriptor.Depth; }
  std::size_t bytes() const { return pitch() * rows() * layers(); }
};
using ArrayPtr = std::shared_ptr<ArrayObject>;

struct Mipmap {
  std::uint64_t number = 0;
  std::weak_ptr<Context> context;
  Piece piece;
  std::vector<ArrayPtr> levels;
};

}  // namespace tranche::sim::cuda
