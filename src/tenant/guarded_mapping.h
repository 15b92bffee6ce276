#pragma once
// Maps for reading a file that another process may cut short at any time. Reading a missing page
// would raise SIGBUS. Here the page reads as zeros from then on, and the mapping reports that it is
// torn. It is for files that are read so often that one system call per reading costs too much.
//
// The first mapping installs the process's SIGBUS handler. A fault at another address goes to the
// handler that was there before, which mostly ends the process. Mapping and destroying are
// thread-safe. Concurrent reading is as safe as the content of the file allows.

#include <cstddef>

#include "base/result.h"

namespace tranche::tenant {

class GuardedMapping {
 public:
  // kIo: the system refuses, or kMost mappings exist already.
  static Result<GuardedMapping> map(int fd, std::size_t size);
  GuardedMapping(GuardedMapping&& other) noexcept;
  GuardedMapping& operator=(GuardedMapping&& other) noexcept;
  ~GuardedMapping();

  const void* data() const;
  // Whether a page was missing. After that data() may differ from the file.
  bool is_torn() const;

  static constexpr std::size_t kMost = 4096;

 private:
  explicit GuardedMapping(std::size_t place) : place_(place) {}
  std::size_t place_;  // index in the handler's table; kMost: moved away
};

}  // namespace tranche::tenant
