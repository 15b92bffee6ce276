#include "mps/open_file.h"

#include <sstream>

#include "base/fs.h"

namespace tranche::mps {

std::filesystem::path open_file(const std::filesystem::path& root) { return root / ".open"; }

Result<std::set<std::string>> read_open(const std::filesystem::path& root) {
  std::set<std::string> resources;
  const auto text = FsRoot().read(open_file(root));
  if (!text && text.error().code == Code::kNotFound) return resources;
  if (!text) return std::unexpected(text.error());
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) resources.insert(line);
  }
  return resources;
}

Result<void> write_open(const std::filesystem::path& root, const std::set<std::string>& resources) {
  const FsRoot fs;
  const auto file = open_file(root);
  const auto before = read_open(root);
  if (before && *before == resources && (resources.empty() || fs.exists(file))) return {};
  if (resources.empty()) return fs.remove(file);
  std::string text;
  for (const auto& resource : resources) text += resource + '\n';
  return fs.write_atomic(file, text);
}

}  // namespace tranche::mps
