#include "agent/limits/limit_library.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checksum.h"
#include "base/remove_tree.h"
#include "offer/grant.h"

namespace tranche::agent {
namespace {

constexpr std::string_view kLibrary = "libtranche-limit.so";
constexpr std::string_view kPreload = "ld.so.preload";
constexpr std::size_t kLargestLibrary = std::size_t{64} << 20U;

std::string preload_text() { return fmt::format("{}\n", offer::kLibraryMount); }

// Containers may have mounted the file: replace it where it differs, never write into it.
Result<void> put_file(const FsRoot& fs, const std::filesystem::path& path,
                      const std::string& content, unsigned mode) {
  if (const auto now = fs.read(path, kLargestLibrary); now && *now == content) return {};
  return fs.write_atomic(path, content, mode, FsRoot::Sync::kNow);
}

}  // namespace

Result<LimitLibrary::Installed> LimitLibrary::install() {
  if (installed_ && fs_.exists(installed_->library) && fs_.exists(installed_->preload)) {
    return *installed_;
  }
  auto content = fs_.read(source_, kLargestLibrary);
  if (content && content->empty()) {
    content = fail(Code::kFailedPrecondition, fmt::format("{} is empty", source_.string()));
  }
  if (!content) {
    content.error().hint =
        "install libtranche-limit.so beside the agent (../lib), or name it with --limit-library";
    return std::unexpected(std::move(content).error());
  }
  const auto name = fmt::format("{:016x}", checksum(preload_text() + *content));
  const auto folder = dir_ / name;
  TRY(fs_.make_directories(folder));
  TRY(put_file(fs_, folder / kLibrary, *content, 0755));
  TRY(put_file(fs_, folder / kPreload, preload_text(), 0644));
  installed_ = {.library = (folder / kLibrary).string(), .preload = (folder / kPreload).string()};
  return *installed_;
}

Result<std::vector<std::string>> LimitLibrary::unused(const std::set<std::string>& granted) const {
  std::vector<std::string> unused;
  auto names = fs_.list(dir_);
  if (!names && names.error().code == Code::kNotFound) return unused;
  if (!names) return names;
  for (auto& name : *names) {
    const auto prefix = (dir_ / name).string() + "/";
    const bool current = installed_ && installed_->library.starts_with(prefix);
    const auto used = granted.lower_bound(prefix);
    if (current || (used != granted.end() && used->starts_with(prefix))) continue;
    unused.push_back(std::move(name));
  }
  return unused;
}

Result<std::vector<std::string>> LimitLibrary::remove(std::vector<std::string> names) const {
  for (const auto& name : names) TRY(remove_tree(dir_ / name));
  return names;
}

std::filesystem::path library_next_to_program() {
  std::error_code unknown;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", unknown);
  return program.parent_path().parent_path() / "lib" / kLibrary;
}

}  // namespace tranche::agent
