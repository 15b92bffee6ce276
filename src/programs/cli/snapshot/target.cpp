#include "cli/snapshot/target.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "base/fs.h"

namespace tranche::cli {
namespace {

namespace fs = std::filesystem;

std::unexpected<Error> unfit(std::string_view flag, const std::string& path, std::string_view why,
                             std::string hint) {
  return fail(Code::kInvalidArgument, fmt::format("{}: {} {}", flag, path, why), std::move(hint));
}

}  // namespace

Result<fs::path> file_to_write(const std::string& path, std::string_view flag) {
  std::error_code ignored;
  auto file = fs::absolute(path, ignored);
  // A link is kept, and its target is replaced.
  if (const auto target = fs::canonical(file, ignored); !target.empty()) file = target;
  const auto status = fs::status(file, ignored);
  if (fs::is_directory(status) || file.filename().empty()) {
    return unfit(flag, path, "is a folder", "name a file in it");
  }
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    return unfit(flag, path, "is no file",
                 fmt::format("leave out {}, and let the shell write there", flag));
  }
  if (!fs::is_directory(file.parent_path(), ignored)) {
    return unfit(flag, path, "is in no folder that exists",
                 fmt::format("make {}", file.parent_path().string()));
  }
  return file;
}

Result<void> write_private(const fs::path& file, std::string_view text) {
  auto written = FsRoot().write_atomic(file, text, 0600, FsRoot::Sync::kNow);
  if (written) return written;
  auto error = std::move(written).error();
  if (error.hint.empty()) error.hint = "nothing was written; what was there is as it was";
  return std::unexpected(std::move(error));
}

Result<void> write_stream(std::FILE* stream, std::string_view text) {
  const bool all = std::fwrite(text.data(), 1, text.size(), stream) == text.size();
  if (all && std::fflush(stream) == 0) return {};
  return fail(Code::kInternal, fmt::format("standard output: {}", std::strerror(errno)),
              "what was written is not a whole snapshot");
}

}  // namespace tranche::cli
