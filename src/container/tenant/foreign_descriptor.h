#pragma once
// A descriptor sent by a tenant. It may refer to any file.
//
// Closing a file involves its file system. A tenant may run that file system (FUSE) and never
// answer. So the descriptor is closed on its own thread. For the same reason nothing may be asked
// of it before its type is known: fcntl(F_GET_SEALS) involves no file system.

#include "base/descriptor.h"

namespace tranche::tenant {

class ForeignDescriptor {
 public:
  explicit ForeignDescriptor(int fd) : fd_(fd) {}
  ForeignDescriptor(ForeignDescriptor&&) noexcept = default;
  ForeignDescriptor& operator=(ForeignDescriptor&& other) noexcept;
  ~ForeignDescriptor() { close_apart(); }

  int get() const { return fd_.get(); }
  // Use once it is known to be memory: it may be closed like any other.
  Descriptor trusted() && { return std::move(fd_); }

 private:
  void close_apart();
  Descriptor fd_;
};

}  // namespace tranche::tenant
