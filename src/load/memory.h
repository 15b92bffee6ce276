#pragma once
// Device memory that a load holds, asked for in one of the driver's families, all of it on the
// device. Given back with the object, on the thread that has the context.

#include <functional>
#include <string>
#include <vector>

#include "load/gpu.h"

namespace tranche::load {

class Memory {
 public:
  // `gpu` outlives it.
  explicit Memory(Gpu& gpu) : gpu_(gpu) {}
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory();

  // What the load asks for. An error when not all of it was to be had: kUnavailable for out of
  // memory. all_memory is never an error of that kind: refused() tells what the driver said.
  Result<void> take(const Load& load);
  // One block of `size`, and back at once.
  Result<void> borrow(Bytes size);

  Bytes held() const { return held_; }
  const std::string& refused() const { return refused_; }

 private:
  struct Block {
    std::function<void()> free;
    Bytes size;
  };
  Result<Block> allocate(Family family, Bytes size);
  Result<Block> allocate_pitched(Bytes size);
  Result<Block> allocate_managed(Bytes size);
  Result<Block> allocate_mapped(Bytes size);
  Result<Block> allocate_array(Bytes size);
  Result<void> take_all(Family family, Bytes chunk);

  Gpu& gpu_;
  std::vector<Block> blocks_;
  Bytes held_;
  std::string refused_;
};

}  // namespace tranche::load
