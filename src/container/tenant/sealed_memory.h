#pragma once
// Memory that processes share and that none of them can make larger, smaller or unreadable: a
// sealed memfd, mapped here for reading and writing.
//
// Any holder of the descriptor can map it. It has no name in a folder, so nothing that its other
// holders do to it (fchmod, leases, truncation) affects its creator. Reading it never raises
// SIGBUS.

#include <sys/types.h>

#include <cstddef>
#include <utility>

#include "base/descriptor.h"
#include "base/result.h"
#include "tenant/foreign_descriptor.h"

namespace tranche::tenant {

// Identifies the memory, for as long as something holds it.
struct MemoryId {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  bool operator==(const MemoryId&) const = default;
};

class SealedMemory {
 public:
  // `size` bytes of zeros. `name` shows in /proc/<pid>/maps. `seals` come on top of F_SEAL_SHRINK,
  // F_SEAL_GROW and F_SEAL_SEAL, once it is mapped here. kUnsupported: this kernel has no such
  // seals; kIo.
  static Result<SealedMemory> create(const char* name, std::size_t size, int seals = 0);
  // Memory held by another process. kInvalidArgument: it is not sealed memory, not `expected`,
  // or not of `size` bytes. kIo.
  static Result<SealedMemory> take(ForeignDescriptor fd, const MemoryId& expected,
                                   std::size_t size);

  SealedMemory(SealedMemory&& other) noexcept
      : fd_(std::move(other.fd_)),
        data_(std::exchange(other.data_, nullptr)),
        size_(other.size_),
        id_(other.id_) {}
  SealedMemory& operator=(SealedMemory&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(id_, other.id_);
    return *this;
  }
  ~SealedMemory();

  void* data() const { return data_; }
  int fd() const { return fd_.get(); }
  const MemoryId& id() const { return id_; }

 private:
  SealedMemory(Descriptor fd, void* data, std::size_t size, MemoryId id)
      : fd_(std::move(fd)), data_(data), size_(size), id_(id) {}
  static Result<SealedMemory> map(Descriptor fd, std::size_t size);

  Descriptor fd_;
  void* data_ = nullptr;
  std::size_t size_ = 0;
  MemoryId id_;
};

}  // namespace tranche::tenant
