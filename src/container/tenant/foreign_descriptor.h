#pragma once
// A descriptor that a tenant sent. It may be of any file.
//
// Closing a file asks its file system. A tenant may run that file system (FUSE) and never answer.
// So the descriptor is closed on a thread of its own. For the same reason nothing may be asked of
// it before it is known what it is of: fcntl(F_GET_SEALS) asks no file system.

#include "base/descriptor.h"

namespace tranche::tenant {

class ForeignDescriptor {
 public:
  explicit ForeignDescriptor(int fd) : fd_(fd) {}
  ForeignDescriptor(ForeignDescriptor&&) noexcept = default;
  ForeignDescriptor& operator=(ForeignDescriptor&& other) noexcept;
  ~ForeignDescriptor() { close_apart(); }

  int get() const { return fd_.get(); }
  // It is known to be of memory: it may be closed like any other.
  Descriptor trusted() && { return std::move(fd_); }

 private:
  void close_apart();
  Descriptor fd_;
};

}  // namespace tranche::tenant
