#pragma once
// Places concurrent kernels of one context: kernels of different streams that do not fill the GPU,
// as long as there are multiprocessors for their blocks.
//
// All times are nanoseconds of the context's lane (sim/gpu/timeline.h), which runs when the context
// has the GPU: a time slice of another context stops all of them together. A kernel begins when the
// one before it in its stream has ended, and there is room for it until its own end. A kernel that
// fills the GPU comes after everything launched before it, and nothing begins before its end.
//
// Pure; not thread-safe.

#include <cstdint>
#include <vector>

namespace tranche::sim::cuda {

class Overlap {
 public:
  static constexpr unsigned kWhole = 1000;  // permille of the multiprocessors
  // The most kernels that a GPU runs concurrently, since compute capability 7.5 (CUDA programming
  // guide, table of technical specifications: resident grids).
  static constexpr std::size_t kMostAtOnce = 128;

  struct Kernel {
    std::uint64_t after = 0;  // the end of its predecessor in its stream
    std::uint64_t length = 0;
    unsigned width = 1;
  };
  // A kernel that fills the GPU ends at `end`.
  void fill(std::uint64_t end) { filled_ = end; }
  // The end of a kernel that does not fill it. `executed`: how far the lane has got.
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
