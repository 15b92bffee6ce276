#include "process/liveness_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

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
    : file_(std::move(file)), clock_(clock), socket_("alive", file_.string(), clock) {}

LivenessFile::~LivenessFile() { (void)FsRoot().remove(file_); }

void LivenessFile::beat() {
  (void)socket_.beat("alive");
  const auto time = clock_.now();
  if (written_ && time - *written_ < kBeat) return;
  write(fmt::format("{}\n", now(clock_).count()));
  written_ = time;
}

// Written over, because that takes no room. The text is as long as before for some hundred years.
void LivenessFile::write(const std::string& text) {
  struct stat open_one{};
  struct stat named{};
  const bool is_there = open_.is_open() && ::fstat(open_.get(), &open_one) == 0 &&
                        ::stat(file_.c_str(), &named) == 0 && open_one.st_ino == named.st_ino &&
                        open_one.st_dev == named.st_dev;
  if (is_there &&
      ::pwrite(open_.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size())) {
    return;
  }
  if (!FsRoot().write_atomic(file_, text)) return;
  open_ = Descriptor(::open(file_.c_str(), O_WRONLY | O_CLOEXEC));
}

Result<void> LivenessFile::check(const std::filesystem::path& file, const Clock& clock,
                                 std::string_view who) {
  const auto too_old = [&](seconds age) {
    return fail(Code::kUnavailable,
                fmt::format("the {}'s last sign of life is {} s old", who, age.count()),
                "see its log");
  };
  if (const auto answer = StatusSocket::ask("alive", file.string())) {
    const auto age = std::chrono::duration_cast<seconds>(answer->age);
    return age > kLongest ? Result<void>(too_old(age)) : Result<void>();
  }
  const auto beat = read(file);
  if (!beat) {
    return fail(
        Code::kUnavailable,
        fmt::format("no {} runs with the state folder {}", who, file.parent_path().string()),
        fmt::format("see its log; --state-dir must be the {}'s", who));
  }
  const auto age = now(clock) - *beat;
  return age > kLongest ? Result<void>(too_old(age)) : Result<void>();
}

}  // namespace tranche::process
