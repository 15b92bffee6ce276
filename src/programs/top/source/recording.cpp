#include "top/source/recording.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>
#include <utility>

#include "base/json.h"
#include "fleet/fleet_json.h"
#include "top/view/amounts.h"
#include "usage/node_usage_json.h"

namespace tranche::top {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLongestWait{10'000};
constexpr milliseconds kSlice{50};
// Longer than any that a Recorder writes.
constexpr std::size_t kLongestLine = fleet::kLongestFleet;

// Whether the file ends in the middle of a line: a recorder that was killed while it wrote.
bool is_torn(int descriptor, std::uint64_t size) {
  char last = '\n';
  if (size == 0) return false;
  return ::pread(descriptor, &last, 1, static_cast<off_t>(size - 1)) == 1 && last != '\n';
}

// All of it, or an errno value.
int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const auto done = ::write(descriptor, text.data(), text.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(done));
  }
  return 0;
}

}  // namespace

std::string recorded_text(const Reading& reading) {
  return reading.cluster ? fleet::to_json(reading.fleet)
                         : usage::to_json(reading.fleet.nodes.front().usage);
}

Result<Reading> parse_recorded(const std::string& line) {
  // Each says its version first; the fleet's has nodes with a usage/v1 of their own.
  if (line.find("fleet/v1") < line.find("usage/v1")) {
    ASSIGN_OR_RETURN(auto fleet, fleet::parse_fleet(line));
    return reading_of(std::move(fleet));
  }
  ASSIGN_OR_RETURN(auto usage, usage::parse_node_usage(line));
  return reading_of(std::move(usage));
}

Result<std::unique_ptr<Recorder>> Recorder::open(const std::string& path, std::uint64_t limit) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) return std::unexpected(errno_error(errno, "open " + path));
  struct stat status{};
  if (::fstat(descriptor, &status) != 0) {
    const int trouble = errno;
    ::close(descriptor);
    return std::unexpected(errno_error(trouble, "stat " + path));
  }
  const auto size = S_ISREG(status.st_mode) ? static_cast<std::uint64_t>(status.st_size) : 0;
  auto recorder = std::unique_ptr<Recorder>(new Recorder(descriptor, path, limit, size));
  if (is_torn(descriptor, size) && write_all(descriptor, "\n") == 0) ++recorder->size_;
  return recorder;
}

Recorder::~Recorder() { ::close(descriptor_); }

Result<void> Recorder::append(const Reading& reading) {
  const auto text = recorded_text(reading) + '\n';
  if (size_ + text.size() > limit_) {
    return fail(
        Code::kFailedPrecondition,
        fmt::format("{} has reached {}: nothing more is recorded", path_, bytes_text(limit_)),
        "allow more with --record-limit, or record to another file");
  }
  if (const int trouble = write_all(descriptor_, text); trouble != 0) {
    // Nothing of it stays. What cannot be cut off is a torn line, which a replay leaves out.
    if (::ftruncate(descriptor_, static_cast<off_t>(size_)) != 0) size_ += text.size();
    return std::unexpected(errno_error(trouble, "record to " + path_));
  }
  size_ += text.size();
  return {};
}

Result<std::unique_ptr<Replay>> Replay::open(const std::string& path, double speed) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::unexpected(errno_error(errno != 0 ? errno : EIO, "open " + path));
  struct stat status{};
  if (::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) {
    return fail(Code::kInvalidArgument, path + " is a folder", "name a file of --record");
  }
  return std::unique_ptr<Replay>(new Replay(std::move(file), path, std::max(speed, 0.01)));
}

// nullopt: the file has ended. A torn last line is told of, and left out; so is one that is too
// long.
std::optional<std::string> Replay::next_line() {
  std::string line;
  bool too_long = false;
  for (int c = file_.get(); c != std::ifstream::traits_type::eof(); c = file_.get()) {
    if (c == '\n') {
      ++line_;
      if (!too_long) return line;
      note_ = fmt::format("line {} is too long and left out", line_);
      line.clear();
      too_long = false;
      continue;
    }
    too_long = too_long || line.size() >= kLongestLine;
    if (!too_long) line += static_cast<char>(c);
  }
  if (!line.empty()) note_ = "the last line is torn and left out";
  return std::nullopt;
}

// False: stopped.
bool Replay::wait_for(const Reading& reading, const std::stop_token& stop) {
  const auto at = reading.fleet.taken_at;
  auto left = milliseconds(0);
  if (before_ && at > *before_) {
    // As floating point: the times of a file may be centuries apart.
    using Seconds = std::chrono::duration<double>;
    const auto exact =
        (Seconds(at.time_since_epoch()) - Seconds(before_->time_since_epoch())) / speed_;
    left = exact < Seconds(kLongestWait) ? std::chrono::ceil<milliseconds>(exact) : kLongestWait;
  }
  before_ = at;
  while ((left.count() > 0 || held_) && !stop.stop_requested()) {
    const auto slice = held_ ? kSlice : std::min(left, kSlice);
    std::this_thread::sleep_for(slice);
    if (!held_) left -= slice;
  }
  return !stop.stop_requested();
}

Result<Reading> Replay::read(const std::stop_token& stop) {
  while (const auto line = next_line()) {
    auto reading = parse_recorded(*line);
    if (!reading) {
      note_ = fmt::format("line {} is no reading and left out: {}", line_, reading.error().what);
      continue;
    }
    if (!wait_for(*reading, stop)) return fail(Code::kUnavailable, "stopped");
    return reading;
  }
  return fail(Code::kNotFound, fmt::format("{} has ended", path_));
}

Result<Reading> Replay::last() {
  std::string text;
  std::string before;
  while (auto line = next_line()) {
    if (!text.empty()) before = std::move(text);
    text = *std::move(line);
  }
  for (const auto* line : {&text, &before}) {
    if (line->empty()) continue;
    auto reading = parse_recorded(*line);
    if (reading) return reading;
    note_ = fmt::format("the last line is no reading and left out: {}", reading.error().what);
  }
  return fail(Code::kInvalidArgument, fmt::format("{} has no reading", path_),
              "name a file of --record");
}

}  // namespace tranche::top
