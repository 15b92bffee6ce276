#include "config/flags/working_folder.h"

#include <array>
#include <string>
#include <string_view>

#include "config/flags/flag_table.h"

namespace tranche::config {
namespace {

constexpr std::array<std::string_view, 5> kFiles = {
    "config-file", "config-file-dst", "config-file-srcdir", "machine-type-file", "output-file"};

void place(std::string& path, const std::filesystem::path& folder) {
  if (path.empty() || path.starts_with('/')) return;
  path = (folder / path).lexically_normal().native();
}

}  // namespace

Sources from_folder(Sources sources, unsigned uses, const std::filesystem::path& folder) {
  for (const auto name : kFiles) {
    const auto* spec = find_flag(name, uses);
    if (spec == nullptr) continue;
    for (auto& flag : sources.flags) {
      if (find_flag(flag.name, uses) == spec) place(flag.value, folder);
    }
    for (const auto variable : spec->environment) {
      const auto found = sources.environment.find(std::string(variable));
      if (found != sources.environment.end()) place(found->second, folder);
    }
  }
  return sources;
}

}  // namespace tranche::config
