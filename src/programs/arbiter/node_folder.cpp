#include "arbiter/node_folder.h"

#include <algorithm>

namespace tranche::arbiter {

NodeFolder::NodeFolder(const FsRoot& host, const std::filesystem::path& folder) {
  std::error_code error;
  const auto path = std::filesystem::weakly_canonical(folder, error);
  if (!error) place_ = host::place_of(host::own_mounts(host), path);
}

bool NodeFolder::is_mounted(const host::ProcessFacts& facts, const std::string& below) const {
  if (!place_ || !facts.mounts) return false;
  const std::string root =
      below.empty() ? place_->root : (std::filesystem::path(place_->root) / below).string();
  return std::ranges::any_of(*facts.mounts, [&](const host::Mount& mount) {
    return mount.device == place_->device && mount.root == root;
  });
}

}  // namespace tranche::arbiter
