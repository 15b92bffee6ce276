#include "lab/demo/workspace.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>

namespace tranche::demo {
namespace {

namespace fs = std::filesystem;

// A unix socket's path has at most 107 bytes, and the longest name below,
// "/tranche-demo-XXXXXX/gpu-l20/kubelet/device-plugins/nvidia-gpu.sock", has 67.
constexpr std::size_t kLongestParent = 40;

}  // namespace

Result<fs::path> own_folder() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) return std::unexpected(errno_error(error.value(), "read /proc/self/exe"));
  return self.parent_path();
}

Result<Programs> Programs::find(const fs::path& folder) {
  const fs::path library = folder.parent_path() / "sim" / "libnvidia-ml.so.1";
  Programs programs{.tranche = folder / "tranche", .simulator = folder / "tranche-sim"};
  std::error_code ignored;
  for (const auto& needed : {programs.tranche, programs.simulator, library}) {
    if (fs::exists(needed, ignored)) continue;
    return fail(Code::kNotFound, needed.string() + " has not been built", "run make first");
  }
  return programs;
}

Result<Workspace> Workspace::make() {
  std::error_code error;
  fs::path parent = fs::temp_directory_path(error);
  if (!error) parent = fs::absolute(parent, error);
  if (error || parent.native().size() > kLongestParent) parent = "/tmp";
  std::string name = (parent / "tranche-demo-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    auto failure = errno_error(errno, "make a folder " + name);
    failure.hint = "set TMPDIR to a short path that can be written";
    return std::unexpected(std::move(failure));
  }
  return Workspace(name);
}

Workspace::Workspace(Workspace&& other) noexcept
    : path_(std::exchange(other.path_, {})), kept_(other.kept_) {}

Workspace::~Workspace() {
  if (path_.empty() || kept_) return;
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace tranche::demo
