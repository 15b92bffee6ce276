#pragma once
// An image's own /etc/ld.so.preload. The file that limits a container is mounted over it.
//
// The file is searched on the host in the root file system that the runtime has put together. What
// is mounted in the container is not visible there. The image's author chooses all content of that
// file system. So links are followed only within it, only a regular file is opened (a device would
// be the host's), and at most kLongestPreloadFile of it is read. A file without a name in it does
// not matter: runtimes make an empty file as a mount point. A longer file is told of, whatever its
// beginning names.

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tranche::hook {

inline constexpr std::size_t kLongestPreloadFile = std::size_t{64} << 10U;

// The libraries that the file names, separated by spaces; "": none, or no such file. kUnsupported:
// this kernel cannot restrict a lookup to a folder (openat2, Linux 5.6); kIo.
Result<std::string> find_image_preload(const std::filesystem::path& rootfs);

// The libraries in the text of such a file, as the C library's loader reads it, without ours.
std::string preloaded_by(std::string_view text);

}  // namespace tranche::hook
