#pragma once
// An image's own /etc/ld.so.preload. The file that limits a container is mounted over it.
//
// The file is searched on the host in the root file system that the runtime has assembled. The
// container's mounts are not visible there. The image's author controls all content of that file
// system. So links are followed only within it, only a regular file is opened (a device would be
// the host's), and at most kLongestPreloadFile of it is read. A file that lists nothing does not
// matter: runtimes create an empty file as a mount point. A longer file is reported, whatever its
// beginning lists.

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tranche::hook {

inline constexpr std::size_t kLongestPreloadFile = std::size_t{64} << 10U;

// The libraries listed in the file, separated by spaces; "": none, or no such file. kUnsupported:
// this kernel cannot restrict a lookup to a folder (openat2, Linux 5.6); kIo.
Result<std::string> find_image_preload(const std::filesystem::path& rootfs);

// The libraries in the text of such a file, parsed like the C library's loader, without ours.
std::string preloaded_by(std::string_view text);

}  // namespace tranche::hook
