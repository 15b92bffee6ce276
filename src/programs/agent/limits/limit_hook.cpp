#include "agent/limits/limit_hook.h"

#include <fmt/format.h>

#include "base/remove_tree.h"
#include "cdi/claim_spec.h"
#include "cdi/limit_hook.h"

namespace tranche::agent {
namespace {

constexpr std::string_view kProgram = "tranche-limit-hook";
constexpr std::size_t kLargestHook = std::size_t{64} << 20U;

// The program may be running: replace the file, never write into it.
Result<void> put(const FsRoot& fs, const std::filesystem::path& path, const std::string& content,
                 unsigned mode) {
  if (const auto now = fs.read(path, kLargestHook); now && *now == content) return {};
  TRY(fs.make_directories(path.parent_path()));
  return fs.write_atomic(path, content, mode, FsRoot::Sync::kNow);
}

}  // namespace

std::filesystem::path LimitHook::program() const { return options_.state_dir / "hook" / kProgram; }

cdi::Hook LimitHook::hook() const {
  return cdi::limit_hook(program(), options_.state_dir / "tenants");
}

bool LimitHook::is_claimed() const {
  if (!fs_.exists(program())) return false;
  return cdi::is_in_a_claim_file(fs_, options_.cdi_root, program().string());
}

Result<void> LimitHook::install() {
  const auto program = this->program();
  if (installed_.empty() || !fs_.exists(program)) {
    auto content = fs_.read(options_.source, kLargestHook);
    if (content && content->empty()) {
      content =
          fail(Code::kFailedPrecondition, fmt::format("{} is empty", options_.source.string()));
    }
    if (!content) {
      auto error = std::move(content).error();
      if (error.hint.empty()) {
        error.hint = "install tranche-limit-hook beside libtranche-limit.so, or remove runtimeHook";
      }
      return std::unexpected(std::move(error));
    }
    TRY(put(fs_, program, *content, 0755));
    installed_ = *std::move(content);
  }
  const auto spec = cdi::limit_hook_spec(program, options_.state_dir / "tenants");
  auto written = put(fs_, options_.cdi_root / spec.name, spec.json, 0644);
  if (written) return {};
  auto error = std::move(written).error();
  error.hint =
      "mount the node's folder of CDI specifications, writable, at --cdi-root "
      "(limits.runtimeHook=true in the chart's values)";
  return std::unexpected(std::move(error));
}

Result<std::vector<std::string>> LimitHook::remove() {
  std::vector<std::string> removed;
  installed_.clear();
  // The specification goes first, because it names the program.
  const auto spec = options_.cdi_root / cdi::kHookSpecFile;
  if (fs_.exists(spec)) {
    TRY(fs_.remove(spec));
    removed.push_back(spec);
  }
  const auto folder = options_.state_dir / "hook";
  if (fs_.is_directory(folder)) {
    TRY(remove_tree(folder));
    removed.push_back(folder);
  }
  return removed;
}

std::filesystem::path hook_next_to(const std::filesystem::path& library) {
  return library.parent_path() / kProgram;
}

}  // namespace tranche::agent
