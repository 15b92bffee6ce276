#include "lab/runtime/hooks.h"

#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/fs.h"
#include "fmt/format.h"
#include "lab/runtime/driver.h"

namespace tranche::lab {
namespace {

namespace fs = std::filesystem;

constexpr auto kNothingToDo = std::to_array<std::string_view>(
    {"enable-cuda-compat", "disable-device-node-modification", "update-application-profile",
     "update-nvidia-params", "chmod"});

// The values of `--name value` and `--name=value`.
std::vector<std::string> values_of(std::string_view name,
                                   std::span<const std::string_view> arguments) {
  std::vector<std::string> values;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto argument = arguments[i];
    if (argument == name && i + 1 < arguments.size()) {
      values.emplace_back(arguments[++i]);
    } else if (argument.starts_with(name) && argument.substr(name.size()).starts_with('=')) {
      values.emplace_back(argument.substr(name.size() + 1));
    }
  }
  return values;
}

// In the container's root, so that no link in it leads out.
Result<void> enter(const fs::path& root) {
  if (::chroot(root.c_str()) != 0 || ::chdir("/") != 0) {
    return std::unexpected(errno_error(errno, "enter " + root.string()));
  }
  return {};
}

Result<void> create_symlinks(const std::vector<Link>& links, const fs::path& root) {
  TRY(enter(root));
  for (const auto& link : links) {
    std::error_code error;
    fs::create_directories(fs::path(link.path).parent_path(), error);
    if (fs::is_symlink(link.path, error)) fs::remove(link.path, error);
    fs::create_symlink(link.target, link.path, error);
    if (error && error != std::errc::file_exists) {
      return fail(Code::kIo, fmt::format("link {}: {}", link.path, error.message()));
    }
  }
  return {};
}

// The node's ldconfig on the container's root: an image need not have one.
Result<void> update_ldcache(const std::vector<std::string>& folders, const fs::path& root) {
  std::error_code ignored;
  fs::create_directory(root / "etc", ignored);
  std::vector<std::string> words = {"/sbin/ldconfig", "-r", root.string()};
  words.insert(words.end(), folders.begin(), folders.end());
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t child = ::fork();
  if (child < 0) return std::unexpected(errno_error(errno, "start ldconfig"));
  if (child == 0) {
    ::execv(argv.front(), argv.data());
    ::_exit(127);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return fail(Code::kIo, fmt::format("ldconfig -r {} failed", root.string()));
}

Result<void> show(const fs::path& source, const fs::path& target) {
  std::error_code ignored;
  if (!fs::exists(source, ignored) || !fs::exists(target, ignored)) return {};
  if (::mount(source.c_str(), target.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0) {
    return std::unexpected(errno_error(errno, "mount " + target.string()));
  }
  return {};
}

Result<void> show_kernel_files(const fs::path& root) {
  for (const auto* const name : {"proc/driver", "proc/devices"}) {
    TRY(show(fs::path(kTreeFolder) / name, root / name));
  }
  return show(kBootId, root / "proc/sys/kernel/random/boot_id");
}

}  // namespace

Result<std::vector<Link>> read_links(std::span<const std::string_view> arguments) {
  std::vector<Link> links;
  for (const auto& value : values_of("--link", arguments)) {
    const auto colons = value.find("::");
    if (colons == value.npos || colons == 0 || !value.substr(colons + 2).starts_with('/')) {
      return fail(Code::kInvalidArgument,
                  fmt::format("create-symlinks: --link {}: not TARGET::/PATH", value));
    }
    links.push_back({.target = value.substr(0, colons), .path = value.substr(colons + 2)});
  }
  return links;
}

Result<std::filesystem::path> container_root(const std::string& state) {
  const auto parsed = nlohmann::json::parse(state, nullptr, false);
  if (!parsed.is_object() || !parsed.contains("bundle") || !parsed["bundle"].is_string()) {
    return fail(Code::kInvalidArgument, "standard input holds no container state with a bundle",
                "hooks are called by an OCI runtime");
  }
  const fs::path bundle = parsed["bundle"].get<std::string>();
  ASSIGN_OR_RETURN(const auto text, FsRoot().read(bundle / "config.json", 64U << 20U));
  const auto spec = nlohmann::json::parse(text, nullptr, false);
  if (!spec.is_object() || !spec.contains("root")) {
    return fail(Code::kInvalidArgument, (bundle / "config.json").string() + ": names no root");
  }
  return bundle / spec["root"].value("path", "rootfs");
}

Result<void> run_hook(std::span<const std::string_view> arguments, const std::string& state) {
  if (arguments.empty()) return fail(Code::kInvalidArgument, "hook: no name given");
  const auto name = arguments.front();
  if (std::ranges::find(kNothingToDo, name) != kNothingToDo.end()) return {};
  if (name != "create-symlinks" && name != "update-ldcache" && name != "kernel") {
    return fail(Code::kInvalidArgument, fmt::format("hook {}: unknown", name),
                "the lab plays create-symlinks and update-ldcache of NVIDIA's hooks");
  }
  ASSIGN_OR_RETURN(const auto links, read_links(arguments));
  ASSIGN_OR_RETURN(const auto root, container_root(state));
  if (name == "create-symlinks") return create_symlinks(links, root);
  if (name == "update-ldcache") return update_ldcache(values_of("--folder", arguments), root);
  return show_kernel_files(root);
}

}  // namespace tranche::lab
