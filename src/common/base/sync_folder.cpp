#include "base/sync_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/descriptor.h"

namespace tranche {

Result<void> sync_folder(const std::filesystem::path& folder) {
  const auto action = "fsync of the folder " + folder.string();
  const Descriptor fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.is_open()) return std::unexpected(errno_error(errno, action));
  if (::fsync(fd.get()) == 0 || errno == EINVAL || errno == ENOTSUP) return {};
  return std::unexpected(errno_error(errno, action));
}

}  // namespace tranche
