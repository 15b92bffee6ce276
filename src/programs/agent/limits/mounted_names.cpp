#include "agent/limits/mounted_names.h"

#include <filesystem>

#include "host/living_mounts.h"

namespace tranche::agent {
namespace {

// The names that follow `folder` in the path.
void names_behind(const std::filesystem::path& path, std::string_view folder,
                  std::set<std::string>& names) {
  bool is_behind = false;
  for (const auto& part : path) {
    if (is_behind) names.insert(part.string());
    is_behind = part.native() == folder;
  }
}

}  // namespace

Result<std::set<std::string>> mounted_names(const FsRoot& fs) {
  std::set<std::string> names;
  TRY(host::each_living_mount(fs, [&](const host::Mount& mount) {
    names_behind(mount.root, "tenants", names);
    names_behind(mount.root, "lib", names);
    names_behind(mount.point, "tranche", names);
  }));
  return names;
}

}  // namespace tranche::agent
