#pragma once
// The device memory that a load holds. It is allocated by one family of the driver's functions,
// entirely on the device. The destructor frees it; it must run on the thread that has the
// context.

#include <functional>
#include <string>
#include <vector>

#include "load/gpu.h"

namespace tranche::load {

class Memory {
 public:
  // `gpu` must outlive it.
  explicit Memory(Gpu& gpu) : gpu_(gpu) {}
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory();

  // Allocates the memory that the load asks for. kUnavailable: there is not enough. With all_memory
  // that is not an error, and refused() has the driver's answer.
  Result<void> take(const Load& load);
  // Allocates one block of `size` and frees it at once.
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
