#pragma once
// A file mapped for reading that somebody else may cut short at any time. A page that is missing
// then would be a SIGBUS; here it reads as zeros from that moment, and the mapping says that it is
// torn. For files that are read so often that a system call for each reading costs too much.
//
// The first mapping installs the process's handler of SIGBUS. A fault anywhere else goes to the
// handler before it, which is mostly the end of the process. Mapping and destroying are
// thread-safe; reading is as the content is.

#include <cstddef>

#include "base/result.h"

namespace tranche::tenant {

class GuardedMapping {
 public:
  // kIo: the system refuses, or kMost of them exist already.
  static Result<GuardedMapping> map(int fd, std::size_t size);
  GuardedMapping(GuardedMapping&& other) noexcept;
  GuardedMapping& operator=(GuardedMapping&& other) noexcept;
  ~GuardedMapping();

  const void* data() const;
  // Whether a page was missing: from then on what is there is not the file any more.
  bool is_torn() const;

  static constexpr std::size_t kMost = 4096;

 private:
  explicit GuardedMapping(std::size_t place) : place_(place) {}
  std::size_t place_;  // in the handler's table; kMost: moved away
};

}  // namespace tranche::tenant
