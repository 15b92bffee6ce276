#include "cdi/driver_libraries.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

namespace tranche::cdi {
namespace {

// The folders of the driver's libraries in distributions, driver containers and cloud images.
constexpr auto kFolders = std::to_array<std::string_view>({
    "/usr/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu/nvidia/current",
    "/usr/lib/aarch64-linux-gnu/nvidia/current",
    "/lib64",
    "/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/local/nvidia/lib64",
});

// Libraries installed with the driver whose names lack its version.
constexpr auto kExplicit = std::to_array<std::string_view>({
    "libEGL.so",
    "libGL.so",
    "libGLESv1_CM.so",
    "libGLESv2.so",
    "libGLX.so",
    "libGLdispatch.so",
    "libOpenCL.so",
    "libOpenGL.so",
    "libnvidia-api.so",
    "libnvidia-egl-xcb.so",
    "libnvidia-egl-xlib.so",
});
constexpr auto kOwnVersion = std::to_array<std::string_view>({
    "libnvidia-nvvm70.so.",
    "libnvidia-egl-gbm.so.",
    "libnvidia-egl-wayland.so.",
    "libnvidia-egl-wayland2.so.",
    "libnvidia-egl-xcb.so.",
    "libnvidia-egl-xlib.so.",
});

// Links that programs expect even if the installation lacks them: the library, the link, and the
// link's target (empty: the library itself).
struct ExpectedLink {
  std::string_view library, link, target;
};
constexpr auto kExpectedLinks = std::to_array<ExpectedLink>({
    {"libcuda", "libcuda.so", "libcuda.so.1"},
    {"libGLX_nvidia", "libGLX_indirect.so.0", ""},
    {"libnvidia-opticalflow", "libnvidia-opticalflow.so", "libnvidia-opticalflow.so.1"},
    {"libnvidia-vulkan-producer", "libnvidia-vulkan-producer.so", ""},
    {"libnvidia-allocator", "gbm/nvidia-drm_gbm.so", "../libnvidia-allocator.so.1"},
});

std::string file_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

// The folders with `file`. A folder that has several names (/lib64 -> /usr/lib64) appears once.
std::vector<std::string> folders_with(const DriverRoots& roots, const std::string& file) {
  std::vector<std::string> folders;
  std::set<std::string> seen;
  for (const auto folder : kFolders) {
    const auto path = fmt::format("{}/{}", folder, file);
    if (!is_there(roots, path)) continue;
    std::error_code error;
    const auto real = std::filesystem::weakly_canonical(roots.driver.resolve(path), error);
    if (seen.insert(error ? path : real.string()).second) folders.emplace_back(folder);
  }
  return folders;
}

bool versioned(const std::string& name, const std::string& version) {
  return name.ends_with(".so." + version);
}

bool has_own_version(const std::string& name) {
  return std::ranges::any_of(kOwnVersion, [&](auto prefix) { return name.starts_with(prefix); });
}

// Symbolic links of one folder: the link's name -> the name of its target in the same folder.
using FolderLinks = std::vector<std::pair<std::string, std::string>>;

FolderLinks links_in(const FsRoot& driver, const std::vector<std::string>& entries) {
  FolderLinks links;
  for (const auto& path : entries) {
    const auto target = driver.read_link(path);
    if (target) links.emplace_back(file_name(path), file_name(*target));
  }
  return links;
}

void add_link(std::string_view target, const std::string& folder, std::string_view link,
              std::vector<std::string>& out) {
  auto text = fmt::format("{}::{}/{}", target, folder, link);
  if (std::ranges::find(out, text) == out.end()) out.push_back(std::move(text));
}

// The links that lead to `library`, directly or through other links:
// libnvidia-ml.so -> libnvidia-ml.so.1 -> libnvidia-ml.so.<version>.
void add_links_to(const std::string& library, const std::string& folder, const FolderLinks& links,
                  std::vector<std::string>& out) {
  std::vector<std::string> reached = {library};
  for (std::size_t i = 0; i < reached.size(); ++i) {
    for (const auto& [name, target] : links) {
      if (target != reached[i] || std::ranges::find(reached, name) != reached.end()) continue;
      add_link(target, folder, name, out);
      reached.push_back(name);
    }
  }
}

void add_expected_links(const std::string& library, const std::string& version,
                        const std::string& folder, std::vector<std::string>& out) {
  for (const auto& expected : kExpectedLinks) {
    if (library != fmt::format("{}.so.{}", expected.library, version)) continue;
    add_link(expected.target.empty() ? library : expected.target, folder, expected.link, out);
  }
}

Result<void> add_folder(const DriverRoots& roots, const std::string& folder, DriverFiles& files) {
  ASSIGN_OR_RETURN(const auto entries, entries_of(roots.driver, folder));
  const auto links = links_in(roots.driver, entries);
  for (const auto& path : entries) {
    const auto name = file_name(path);
    const bool is_versioned = versioned(name, files.driver_version);
    const bool is_explicit = std::ranges::find(kExplicit, name) != kExplicit.end();
    if (!is_versioned && !is_explicit && !has_own_version(name)) continue;
    if (!is_there(roots, path)) {
      files.dangling.push_back(path);
    } else if (is_versioned) {
      files.libraries.push_back(path);
      add_expected_links(name, files.driver_version, folder, files.library_links);
      add_links_to(name, folder, links, files.library_links);
    } else {
      (is_explicit ? files.explicit_libraries : files.libraries).push_back(path);
    }
  }
  return {};
}

}  // namespace

std::span<const std::string_view> library_folders() { return kFolders; }

Result<std::vector<std::string>> entries_of(const FsRoot& root, const std::string& folder) {
  std::vector<std::string> paths;
  const auto names = root.list(folder);
  if (!names && names.error().code == Code::kNotFound) return paths;
  if (!names) return std::unexpected(names.error());
  for (const auto& name : *names) paths.push_back(fmt::format("{}/{}", folder, name));
  return paths;
}

Result<void> find_libraries(const DriverRoots& roots, DriverFiles& files) {
  for (const std::string_view name : {"libcuda", "libnvidia-ml"}) {
    const auto file = fmt::format("{}.so.{}", name, files.driver_version);
    const auto folders = folders_with(roots, file);
    if (folders.empty()) {
      return fail(
          Code::kFailedPrecondition,
          fmt::format("{} not found under the driver root {}", file, roots.driver.root().string()),
          "CDI specifications need the driver's files: mount the host's driver root there "
          "(chart value nvidiaDriverRoot) or name where it is by --driver-root-ctr-path; "
          "or use --device-list-strategy envvar");
    }
    if (name == "libcuda") files.cuda_folders = folders;
  }
  for (const auto& folder : files.cuda_folders) {
    TRY(add_folder(roots, folder, files));
    TRY(add_folder(roots, folder + "/vdpau", files));
  }
  return {};
}

}  // namespace tranche::cdi
