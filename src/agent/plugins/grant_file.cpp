#include "agent/plugins/grant_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "base/descriptor.h"

namespace tranche::agent {

// An open file. Every line that is to be written to it holds it, so it outlives its replacement.
class GrantFile::Output {
 public:
  explicit Output(int fd) : descriptor_(fd) {}

  int fd() const { return descriptor_.get(); }
  // The file ends in a line that was cut off.
  std::atomic<bool> torn = false;

 private:
  Descriptor descriptor_;
};

namespace {

// write(), repeated when a signal interrupts it.
ssize_t write_once(int fd, std::string_view text) {
  while (true) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n >= 0 || errno != EINTR) return n;
  }
}

Result<void> write_whole(int fd, std::string_view text, const std::string& name) {
  while (!text.empty()) {
    const ssize_t n = write_once(fd, text);
    if (n < 0) return std::unexpected(errno_error(errno, "write " + name));
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

}  // namespace

GrantFile::GrantFile(std::filesystem::path path, std::size_t lines, OnStep on_step)
    : path_(std::move(path)), on_step_(std::move(on_step)), lines_(lines) {}

Result<std::unique_ptr<GrantFile>> GrantFile::open(std::filesystem::path path, std::size_t lines,
                                                   OnStep on_step) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return std::unexpected(errno_error(errno, "open " + path.string()));
  std::unique_ptr<GrantFile> file(new GrantFile(std::move(path), lines, std::move(on_step)));
  file->file_ = std::make_shared<Output>(fd);
  return file;
}

Result<void> GrantFile::step(Step step) const { return on_step_ ? on_step_(step) : Result<void>(); }

GrantFile::Line GrantFile::take(std::string text) {
  Line line;
  line.text_ = std::move(text);
  const std::scoped_lock lock(mutex_);
  line.file_ = file_;
  line.second_ = next_;
  ++lines_;
  if (remembers_) remembered_ += line.text_;
  if (remembers_ || next_) ++next_lines_;
  return line;
}

Result<void> GrantFile::write(const Line& line) {
  TRY(append(*line.file_, line.text_));
  return line.second_ ? append(*line.second_, line.text_) : Result<void>();
}

Result<void> GrantFile::append(Output& file, const std::string& text) const {
  TRY(step(Step::kAppend));
  const bool torn = file.torn;
  const auto whole = torn ? "\n" + text : std::string();
  const std::string_view wanted = torn ? whole : text;
  const ssize_t n = write_once(file.fd(), wanted);
  if (n == static_cast<ssize_t>(wanted.size())) return {};
  if (n > 0) file.torn = true;
  return std::unexpected(errno_error(n < 0 ? errno : ENOSPC, "write " + path_.string()));
}

std::size_t GrantFile::lines() const {
  const std::scoped_lock lock(mutex_);
  return lines_;
}

void GrantFile::begin_replacement(std::size_t kept) {
  const std::scoped_lock lock(mutex_);
  remembers_ = true;
  next_lines_ = kept;
}

Result<void> GrantFile::replace(std::string_view content, bool sync) {
  // The name follows FsRoot::write_atomic, because `tranche cleanup` removes temporary files by
  // that pattern.
  auto name = (path_.parent_path() / ("." + path_.filename().string() + ".XXXXXX")).string();
  auto done = step(Step::kCreate);
  const int fd = done ? ::mkostemp(name.data(), O_APPEND | O_CLOEXEC) : -1;
  if (done && fd < 0) done = std::unexpected(errno_error(errno, "write " + path_.string()));
  if (done) {
    const auto file = std::make_shared<Output>(fd);
    done = fill(name, *file, content, sync);
    if (done) done = catch_up(name, file);
    if (done) done = step(Step::kRename);
    if (done && ::rename(name.c_str(), path_.c_str()) != 0) {
      done = std::unexpected(errno_error(errno, "rename to " + path_.string()));
    }
    if (done) {
      (void)step(Step::kRenamed);
    } else {
      ::unlink(name.c_str());
    }
  }
  // The file that is dropped is closed without the lock: closing a removed file frees its blocks,
  // which takes time.
  const auto gone = end_replacement(done.has_value());
  return done;
}

std::shared_ptr<GrantFile::Output> GrantFile::end_replacement(bool done) {
  const std::scoped_lock lock(mutex_);
  if (done) {
    file_.swap(next_);
    lines_ = next_lines_;
  }
  remembers_ = false;
  remembered_.clear();
  return std::exchange(next_, nullptr);
}

Result<void> GrantFile::fill(const std::string& name, Output& file, std::string_view content,
                             bool sync) {
  TRY(step(Step::kFill));
  TRY(write_whole(file.fd(), content, name));
  if (!sync) return {};
  TRY(step(Step::kSync));
  if (::fsync(file.fd()) != 0) return std::unexpected(errno_error(errno, "fsync " + name));
  return {};
}

// Steps 3 and 4: writes the remembered lines until none is left, then makes `file` the second one.
Result<void> GrantFile::catch_up(const std::string& name, const std::shared_ptr<Output>& file) {
  while (true) {
    std::string late;
    {
      const std::scoped_lock lock(mutex_);
      late.swap(remembered_);
      if (late.empty()) {
        remembers_ = false;
        next_ = file;
        return {};
      }
    }
    TRY(step(Step::kCatchUp));
    TRY(write_whole(file->fd(), late, name));
  }
}

}  // namespace tranche::agent
