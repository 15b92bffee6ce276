#include "base/remove_tree.h"

#include <system_error>

namespace tranche {
namespace {

constexpr int kRemoveAttempts = 10;

}  // namespace

Result<void> remove_tree(const std::filesystem::path& path) {
  std::error_code error;
  for (int i = 0; i < kRemoveAttempts; ++i) {
    std::filesystem::remove_all(path, error);
    // Something went between the listing of a folder and its removal.
    if (error != std::errc::no_such_file_or_directory) break;
  }
  if (error) return std::unexpected(errno_error(error.value(), "remove " + path.string()));
  return {};
}

}  // namespace tranche
