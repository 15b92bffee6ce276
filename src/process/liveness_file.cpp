#include "process/liveness_file.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "base/fs.h"

namespace tranche::process {
namespace {

using std::chrono::seconds;

constexpr std::size_t kLongestText = 64;

seconds now(const Clock& clock) {
  return std::chrono::duration_cast<seconds>(clock.wall_now().time_since_epoch());
}

std::optional<seconds> read(const std::filesystem::path& file) {
  const auto text = FsRoot().read(file, kLongestText);
  if (!text) return std::nullopt;
  std::int64_t count = 0;
  const auto* const end = text->data() + text->size();
  if (std::from_chars(text->data(), end, count).ec != std::errc{}) return std::nullopt;
  return seconds(count);
}

}  // namespace

LivenessFile::LivenessFile(std::filesystem::path file, const Clock& clock)
    : file_(std::move(file)), clock_(clock) {}

LivenessFile::~LivenessFile() { (void)FsRoot().remove(file_); }

void LivenessFile::beat() {
  const auto time = clock_.now();
  if (written_ && time - *written_ < kBeat) return;
  (void)FsRoot().write_atomic(file_, fmt::format("{}\n", now(clock_).count()), 0644, false);
  written_ = time;
}

Result<void> LivenessFile::check(const std::filesystem::path& file, const Clock& clock,
                                 std::string_view who) {
  const auto beat = read(file);
  if (!beat) {
    return fail(
        Code::kUnavailable,
        fmt::format("no {} runs with the state folder {}", who, file.parent_path().string()),
        fmt::format("see its log; --state-dir must be the {}'s", who));
  }
  const auto age = now(clock) - *beat;
  if (age > kLongest) {
    return fail(Code::kUnavailable,
                fmt::format("the {}'s last sign of life is {} s old", who, age.count()),
                "see its log");
  }
  return {};
}

}  // namespace tranche::process
