#include "agent/grants/grant_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "base/sync_folder.h"

namespace tranche::agent {

// An open file. Each line to be written to it holds it, so it may outlive its replacement.
class GrantFile::Output {
 public:
  explicit Output(int fd) : descriptor_(fd) {}

  int fd() const { return descriptor_.get(); }
  // Another open file description of this file, also when the file has lost its name.
  Result<Descriptor> reopen(int flags) const {
    const auto name = "/proc/self/fd/" + std::to_string(fd());
    Descriptor own(::open(name.c_str(), flags | O_CLOEXEC));
    if (!own.is_open()) return std::unexpected(errno_error(errno, "open " + name));
    return own;
  }
  // A descriptor to append one line by; give_back() returns it for reuse.
  Result<Descriptor> take_appender() {
    {
      const std::scoped_lock lock(mutex_);
      if (!spare_.empty()) {
        auto own = std::move(spare_.back());
        spare_.pop_back();
        return own;
      }
    }
    return reopen(O_RDWR | O_APPEND);
  }
  void give_back(Descriptor own) {
    const std::scoped_lock lock(mutex_);
    if (spare_.size() < kSpare) spare_.push_back(std::move(own));
  }
  Result<bool> ends_within_a_line() const {
    ASSIGN_OR_RETURN(const auto own, reopen(O_RDONLY));
    const off_t size = ::lseek(own.get(), 0, SEEK_END);
    char last = '\n';
    if (size < 0 || (size > 0 && ::pread(own.get(), &last, 1, size - 1) != 1)) {
      return std::unexpected(errno_error(errno, "read the end of the grants"));
    }
    return last != '\n';
  }
  // The last line had no end when the file was opened, and is kept.
  std::atomic<bool> unended = false;

 private:
  static constexpr std::size_t kSpare = 4;

  Descriptor descriptor_;
  std::mutex mutex_;
  std::vector<Descriptor> spare_;
};

namespace {

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

off_t begin_of_last(int fd, ssize_t size) { return ::lseek(fd, 0, SEEK_CUR) - size; }

bool overwrite(int fd, const std::string& text, off_t at) {
  return ::pwrite(fd, text.data(), text.size(), at) == static_cast<ssize_t>(text.size());
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
  ASSIGN_OR_RETURN(file->file_->unended, file->file_->ends_within_a_line());
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
  ASSIGN_OR_RETURN(const auto at, append(*line.file_, line.text_));
  if (!line.second_) return {};
  auto second = append(*line.second_, line.text_);
  if (second) return {};
  blank(*line.file_, at, line.text_.size());
  return std::unexpected(std::move(second).error());
}

// Appends a line. Returns its offset.
Result<off_t> GrantFile::append(Output& file, const std::string& text) const {
  TRY(step(Step::kAppend));
  ASSIGN_OR_RETURN(auto own, file.take_appender());
  const bool unended = file.unended;
  const auto wanted = unended ? "\n" + text : text;
  const ssize_t n = write_once(own.get(), wanted);
  const int error = n < 0 ? errno : ENOSPC;
  const off_t at = n < 0 ? 0 : begin_of_last(own.get(), n);
  if (n != static_cast<ssize_t>(wanted.size())) {
    if (n > 0) {
      (void)step(Step::kCutOff);
      blank(file, at, static_cast<std::size_t>(n));
    }
    return std::unexpected(errno_error(error, "write " + path_.string()));
  }
  if (unended) {
    file.unended = false;
    return at + 1;
  }
  if (auto ended = end_line_before(file, own.get(), at); !ended) {
    blank(file, at, text.size());
    return std::unexpected(std::move(ended).error());
  }
  file.give_back(std::move(own));
  return at;
}

// Makes the byte before `at` a line end. If it is none, it belongs to a line that was cut off.
Result<void> GrantFile::end_line_before(const Output& file, int reader, off_t at) const {
  char before = 0;
  if (at == 0) return {};
  if (::pread(reader, &before, 1, at - 1) != 1) {
    return std::unexpected(errno_error(errno, "read " + path_.string()));
  }
  if (before == '\n') return {};
  // Not by the reader's descriptor: with O_APPEND pwrite() appends.
  ASSIGN_OR_RETURN(const auto writer, file.reopen(O_WRONLY));
  if (overwrite(writer.get(), "\n", at - 1)) return {};
  return std::unexpected(errno_error(errno, "write " + path_.string()));
}

// Blanks a line that was cut off. If that fails, restore() sets it aside.
void GrantFile::blank(const Output& file, off_t at, std::size_t size) const {
  const auto writer = file.reopen(O_WRONLY);
  if (writer) (void)overwrite(writer->get(), std::string(size, '\n'), at);
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
  // Named as by FsRoot::write_atomic, because `tranche cleanup` removes temporary files by that
  // pattern.
  auto name = (path_.parent_path() / ("." + path_.filename().string() + ".XXXXXX")).string();
  bool renamed = false;
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
    renamed = done.has_value();
    if (renamed) (void)step(Step::kRenamed);
    if (renamed && sync) done = sync_folder(path_.parent_path());
    if (!renamed) ::unlink(name.c_str());
  }
  // Closed outside the lock: closing a removed file frees its blocks, which takes time.
  const auto gone = end_replacement(renamed);
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

// Steps 3 and 4: writes remembered lines until none is left, then makes `file` the second one.
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
