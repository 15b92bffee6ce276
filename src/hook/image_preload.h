#pragma once
// An image's own /etc/ld.so.preload, which the one that limits a container covers.
//
// Looked for in the root file system that the runtime has put together, on the host, where what is
// mounted in the container is not seen. Everything there is the image's author's choice: links are
// followed within it alone, nothing but a regular file is opened (a device would be the host's),
// and no more than kLongest of it is read. A file without a name in it is no matter: runtimes make
// an empty one where something is to be mounted.

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tranche::hook {

inline constexpr std::size_t kLongestPreloadFile = std::size_t{64} << 10U;

// The libraries that it names, with spaces between; "": none, or no such file. kUnsupported: this
// kernel cannot look within a folder alone (openat2, Linux 5.6); kIo.
Result<std::string> find_image_preload(const std::filesystem::path& rootfs);

// Those in the text of such a file, as the C library's loader reads it; ours is left out.
std::string preloaded_by(std::string_view text);

}  // namespace tranche::hook
