#pragma once
// Where kernels of one context run beside each other: kernels of different streams that do not fill
// the GPU, as long as there are multiprocessors for their blocks.
//
// All in nanoseconds of the context's lane (sim/gpu/timeline.h), which runs when the context has
// the GPU: a time slice of another context stops all of them together. A kernel begins when the
// one before it in its stream has ended, and there is room for it until its own end. One that fills
// the GPU comes after everything that was launched before it, and nothing begins before its end.
//
// Pure; not thread-safe.

#include <cstdint>
#include <vector>

namespace tranche::sim::cuda {

class Overlap {
 public:
  static constexpr unsigned kWhole = 1000;  // permille of the multiprocessors
  // Kernels that a GPU runs at once, since compute capability 7.5 (CUDA programming guide, table of
  // technical specifications: resident grids).
  static constexpr std::size_t kMostAtOnce = 128;

  struct Kernel {
    std::uint64_t after = 0;  // the end of what stands before it in its stream
    std::uint64_t length = 0;
    unsigned width = 1;
  };
  // A kernel that fills the GPU ends there.
  void fill(std::uint64_t end) { filled_ = end; }
  // Where one that does not will end. `executed`: how far the lane got.
  std::uint64_t place(const Kernel& kernel, std::uint64_t executed);

 private:
  struct Piece {
    std::uint64_t begin;
    std::uint64_t end;
    unsigned width;
  };
  bool has_room(std::uint64_t at, unsigned width) const;
  std::uint64_t begin_of(const Kernel& kernel, std::uint64_t earliest) const;

  std::vector<Piece> pieces_;  // of kernels that may not have ended
  std::uint64_t filled_ = 0;   // the end of the last one that fills the GPU
};

}  // namespace tranche::sim::cuda
