#include "tenant/foreign_descriptor.h"

#include <system_error>
#include <thread>

namespace tranche::tenant {

ForeignDescriptor& ForeignDescriptor::operator=(ForeignDescriptor&& other) noexcept {
  if (this == &other) return *this;
  close_apart();
  fd_ = std::move(other.fd_);
  return *this;
}

void ForeignDescriptor::close_apart() {
  if (!fd_.is_open()) return;
  const int fd = fd_.release();
  try {
    std::thread([fd] { ::close(fd); }).detach();
  } catch (const std::system_error&) {
    // No thread can be made now. One descriptor is lost; closing it here might never end.
  }
}

}  // namespace tranche::tenant
