#include "config/file/trusted_paths.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>

namespace tranche::config {
namespace {

// Programs of these names accept a hook's arguments; another program would misinterpret them.
constexpr std::array<std::string_view, 2> kHookPrograms = {"nvidia-cdi-hook", "nvidia-ctk"};

bool is_plain(std::string_view path) {
  const std::filesystem::path whole(path);
  return whole.is_absolute() && whole.lexically_normal().native() == path &&
         std::ranges::none_of(path, [](unsigned char c) { return c < ' '; });
}

bool is_below(std::string_view path, std::string_view folder) {
  while (folder.size() > 1 && folder.ends_with('/')) folder.remove_suffix(1);
  if (folder == "/") return true;
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

}  // namespace

std::optional<std::string> why_untrusted(std::string_view path,
                                         std::span<const std::string> folders) {
  const auto shown = path.substr(0, 80);
  if (!is_plain(path)) {
    return fmt::format("\"{}\" is no absolute path without . and ..", shown);
  }
  const auto is_in = [&](const std::string& folder) { return is_below(path, folder); };
  if (std::ranges::any_of(folders, is_in)) return std::nullopt;
  return fmt::format("{} is in no folder from which a file may name one ({})", shown,
                     fmt::join(folders, ", "));
}

std::optional<std::string> why_no_hook(std::string_view path) {
  const auto name = std::filesystem::path(path).filename().native();
  if (std::ranges::find(kHookPrograms, name) != kHookPrograms.end()) return std::nullopt;
  return fmt::format("{} is neither nvidia-cdi-hook nor nvidia-ctk", path.substr(0, 80));
}

}  // namespace tranche::config
