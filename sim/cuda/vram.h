#pragma once
// A process's share of a device's physical memory: bytes that are committed when they are touched.
//
// One sparse memfd represents the device; an allocation is a piece of it, and freeing returns the
// pages to the kernel. The file has room for more than the device, so that fragmentation never
// refuses an allocation that fits into the device's memory, which the shared state counts over all
// processes. Memory that other processes may map is a separate file, whose last bytes describe it.
// Not thread-safe.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/result.h"
#include "sim/cuda/arena.h"
#include "sim/gpu/shared_memory.h"
#include "sim/state/owned_fd.h"

namespace tranche::sim::cuda {

inline constexpr std::uint64_t kPage = std::uint64_t{2} << 20U;  // of device memory

// The label of an exported descriptor, for the process that imports it.
struct SharedMemoryLabel {
  std::uint64_t magic;
  std::uint64_t size;  // excluding the label
  std::uint32_t gpu;
  std::uint32_t gpu_instance;
  std::uint32_t compute_instance;
  std::uint32_t reserved;
  std::uint64_t state;  // inode of the machine's state file
  SharedMemoryId memory;
};
inline constexpr std::uint64_t kSharedMemoryMagic = 0x4D454D4D49534E54;  // "TNSIMMEM"

// A mapping of (a part of) a memfd.
class Mapping {
 public:
  static Result<Mapping> map(int fd, std::uint64_t offset, std::uint64_t size);
  Mapping() = default;
  Mapping(Mapping&& other) noexcept { swap(other); }
  Mapping& operator=(Mapping&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Mapping();
  std::byte* bytes() const { return bytes_; }
  std::uint64_t size() const { return size_; }

 private:
  void swap(Mapping& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(size_, other.size_);
  }
  std::byte* bytes_ = nullptr;
  std::uint64_t size_ = 0;
};

class Vram {
 public:
  // `bytes` is the device's memory.
  static Result<std::unique_ptr<Vram>> make(std::uint64_t bytes);
  Vram(OwnedFd file, Mapping mapping)
      : file_(std::move(file)), mapping_(std::move(mapping)), places_(0, mapping_.size()) {}

  // Whole pages, all zero. nullptr: no room.
  std::byte* take(std::uint64_t size);
  void give(std::byte* bytes, std::uint64_t size);
  // The offset of `bytes` in file().
  std::uint64_t offset_of(const std::byte* bytes) const {
    return static_cast<std::uint64_t>(bytes - mapping_.bytes());
  }
  int file() const { return file_.get(); }

 private:
  OwnedFd file_;
  Mapping mapping_;
  Arena places_;
};

// A separate memfd, with its label after the last page.
Result<OwnedFd> make_shared_file(const SharedMemoryLabel& label);
Result<void> write_label(int fd, const SharedMemoryLabel& label);
// kInvalidArgument: not such a file.
Result<SharedMemoryLabel> read_label(int fd);

}  // namespace tranche::sim::cuda
