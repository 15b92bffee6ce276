#include "base/fs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <system_error>

#include "base/descriptor.h"
#include "base/sync_folder.h"

namespace tranche {
namespace {

Result<void> write_all(int fd, std::string_view content, const std::string& name) {
  while (!content.empty()) {
    const ssize_t n = ::write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return std::unexpected(errno_error(errno, "write " + name));
    content.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

Result<void> fill(const std::string& temporary, int fd, std::string_view content, unsigned mode,
                  bool sync) {
  if (::fchmod(fd, mode) != 0) return std::unexpected(errno_error(errno, "chmod " + temporary));
  TRY(write_all(fd, content, temporary));
  if (sync && ::fsync(fd) != 0) return std::unexpected(errno_error(errno, "fsync " + temporary));
  return {};
}

// Reads to the end: the size that files of /proc and /sys report is 0.
Result<std::string> read_to_end(int fd, const std::string& real, std::size_t max_bytes) {
  std::string content;
  std::array<char, 16384> buffer;
  while (true) {
    const ssize_t n = ::read(fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return std::unexpected(errno_error(errno, "read " + real));
    if (n == 0) return content;
    if (content.size() + static_cast<std::size_t>(n) > max_bytes) {
      return fail(Code::kInvalidArgument,
                  fmt::format("read {}: longer than {} bytes", real, max_bytes));
    }
    content.append(buffer.data(), static_cast<std::size_t>(n));
  }
}

// Whether a process has the file open for writing. If a lease is broken between the two calls,
// SIGIO would end this process, so SIGURG is sent instead, which is ignored by default.
std::optional<bool> has_writer(int fd) {
  if (::fcntl(fd, F_SETSIG, SIGURG) != 0) return std::nullopt;
  if (::fcntl(fd, F_SETLEASE, F_RDLCK) == 0) {
    ::fcntl(fd, F_SETLEASE, F_UNLCK);
    return false;
  }
  if (errno == EAGAIN) return true;
  return std::nullopt;
}

}  // namespace

std::filesystem::path FsRoot::resolve(const std::filesystem::path& path) const {
  return root_ / path.relative_path();
}

Result<std::string> FsRoot::read(const std::filesystem::path& path, std::size_t max_bytes) const {
  const auto real = resolve(path).string();
  const Descriptor fd(::open(real.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) return std::unexpected(errno_error(errno, "read " + real));
  return read_to_end(fd.get(), real, max_bytes);
}

Result<FileReading> FsRoot::observe(const std::filesystem::path& path,
                                    std::size_t max_bytes) const {
  const auto real = resolve(path).string();
  const Descriptor fd(::open(real.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat before{};
  if (fd.get() < 0 || ::fstat(fd.get(), &before) != 0) {
    return std::unexpected(errno_error(errno, "read " + real));
  }
  ASSIGN_OR_RETURN(auto text, read_to_end(fd.get(), real, max_bytes));
  FileReading reading{.text = std::move(text),
                      .identity = identity_of(before),
                      .regular = S_ISREG(before.st_mode),
                      .being_written = std::nullopt};
  if (!reading.regular) return reading;
  // In this order: a writer that came after the first fstat() is still there, or has left its mark.
  reading.being_written = has_writer(fd.get());
  struct stat after{};
  const bool changed = ::fstat(fd.get(), &after) != 0 || after.st_size != before.st_size ||
                       identity_of(after) != reading.identity;
  if (changed) reading.being_written = true;
  return reading;
}

Result<void> FsRoot::write_atomic(const std::filesystem::path& path, std::string_view content,
                                  unsigned mode, Sync sync) const {
  const auto real = resolve(path);
  // In the same folder, because rename() works within one file system.
  auto temporary = (real.parent_path() / ("." + real.filename().string() + ".XXXXXX")).string();
  const Descriptor fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (fd.get() < 0) return std::unexpected(errno_error(errno, "write " + real.string()));
  auto written = fill(temporary, fd.get(), content, mode, sync == Sync::kNow);
  if (!written) {
    ::unlink(temporary.c_str());
    return written;
  }
  if (::rename(temporary.c_str(), real.c_str()) != 0) {
    written = std::unexpected(errno_error(errno, "rename to " + real.string()));
    ::unlink(temporary.c_str());
    return written;
  }
  return sync == Sync::kNow ? sync_folder(real.parent_path()) : written;
}

Result<void> FsRoot::make_directories(const std::filesystem::path& path) const {
  std::error_code error;
  std::filesystem::create_directories(resolve(path), error);
  if (error) {
    return std::unexpected(errno_error(error.value(), "mkdir " + resolve(path).string()));
  }
  return {};
}

Result<void> FsRoot::remove(const std::filesystem::path& path) const {
  const auto real = resolve(path).string();
  if (::unlink(real.c_str()) != 0 && errno != ENOENT) {
    return std::unexpected(errno_error(errno, "remove " + real));
  }
  return {};
}

Result<std::vector<std::string>> FsRoot::list(const std::filesystem::path& path) const {
  std::error_code error;
  std::vector<std::string> names;
  std::filesystem::directory_iterator entry(resolve(path), error);
  while (!error && entry != std::filesystem::directory_iterator()) {
    names.push_back(entry->path().filename().string());
    entry.increment(error);
  }
  if (error) {
    return std::unexpected(errno_error(error.value(), "list " + resolve(path).string()));
  }
  std::ranges::sort(names);
  return names;
}

Result<std::string> FsRoot::read_link(const std::filesystem::path& path) const {
  std::error_code error;
  const auto target = std::filesystem::read_symlink(resolve(path), error);
  if (error) {
    return std::unexpected(errno_error(error.value(), "readlink " + resolve(path).string()));
  }
  return target.string();
}

bool FsRoot::exists(const std::filesystem::path& path) const {
  std::error_code error;
  return std::filesystem::exists(resolve(path), error);
}

bool FsRoot::is_directory(const std::filesystem::path& path) const {
  std::error_code error;
  return std::filesystem::is_directory(resolve(path), error);
}

bool FsRoot::is_char_device(const std::filesystem::path& path) const {
  std::error_code error;
  return std::filesystem::is_character_file(resolve(path), error);
}

}  // namespace tranche
