#include "labels/feature_file.h"

#include <fmt/format.h>

#include <optional>
#include <system_error>
#include <utility>

#include "base/checksum.h"
#include "base/lines.h"

namespace tranche::labels {
namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{1} << 20U;

std::string mark_of(std::string_view text) {
  return fmt::format("{} {:016x}\n", text.size(), checksum(text));
}

// The file's text; nullopt when there is no file.
Result<std::optional<std::string>> read_if_there(const FsRoot& fs,
                                                 const std::filesystem::path& path) {
  auto text = fs.read(path, kMaxFileBytes);
  if (text) return *std::move(text);
  if (text.error().code == Code::kNotFound) return std::nullopt;
  return std::unexpected(std::move(text).error());
}

}  // namespace

std::string render(const Labels& labels) {
  std::string text;
  for (const auto& [key, value] : labels) text += fmt::format("{}={}\n", key, value);
  return text;
}

Result<Labels> parse(std::string_view text) {
  Labels labels;
  for (int number = 1; !text.empty(); ++number) {
    auto line = take_line(text);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.starts_with('#')) continue;
    const auto equals = line.find('=');
    if (equals == 0) {
      return fail(Code::kInvalidArgument, fmt::format("line {}: no key before '='", number),
                  "write key=value");
    }
    labels[std::string(line.substr(0, equals))] =
        equals == std::string_view::npos ? "true" : std::string(line.substr(equals + 1));
  }
  return labels;
}

bool removed_on_exit(const config::GfdFlags& flags) {
  return !flags.oneshot && flags.sleep_interval.has_value() && !flags.output_file.empty();
}

FeatureFile::FeatureFile(FsRoot fs, std::filesystem::path path)
    : fs_(std::move(fs)), path_(std::move(path)) {}

bool FeatureFile::folder_exists() const { return fs_.is_directory(path_.parent_path()); }

std::filesystem::path FeatureFile::mark_path() const {
  return path_.parent_path() / ("." + path_.filename().string() + ".tranche");
}

Result<bool> FeatureFile::is_ours() const {
  ASSIGN_OR_RETURN(const auto text, read_if_there(fs_, path_));
  ASSIGN_OR_RETURN(const auto mark, read_if_there(fs_, mark_path()));
  return text && mark && *mark == mark_of(*text);
}

Result<FeatureFile::Owner> FeatureFile::owner(std::chrono::system_clock::time_point now) const {
  if (!fs_.exists(path_)) return Owner::kNobody;
  ASSIGN_OR_RETURN(const bool ours, is_ours());
  if (ours) return Owner::kUs;
  std::error_code error;
  const auto written = std::filesystem::last_write_time(fs_.resolve(path_), error);
  if (error) {
    return std::unexpected(errno_error(error.value(), "stat " + fs_.resolve(path_).string()));
  }
  const auto age = now - std::chrono::file_clock::to_sys(written);
  return std::chrono::abs(age) < kStale ? Owner::kOther : Owner::kAbandoned;
}

// The mark is written first. If the process dies between the two writes, the old file counts as
// another writer's and is taken over when it is stale. In the other order a file of ours could have
// no owner.
Result<void> FeatureFile::write(const Labels& labels) const {
  const auto text = render(labels);
  TRY(fs_.write_atomic(mark_path(), mark_of(text)));
  return fs_.write_atomic(path_, text);
}

Result<void> FeatureFile::remove() const {
  ASSIGN_OR_RETURN(const bool ours, is_ours());
  if (ours) TRY(fs_.remove(path_));
  return fs_.remove(mark_path());
}

std::string_view to_string(FeatureFile::Owner owner) {
  switch (owner) {
    case FeatureFile::Owner::kNobody:
      return "nobody";
    case FeatureFile::Owner::kUs:
      return "us";
    case FeatureFile::Owner::kOther:
      return "another writer";
    case FeatureFile::Owner::kAbandoned:
      return "another writer, no longer running";
  }
  return "unknown";
}

}  // namespace tranche::labels
