#include "hook/image_preload.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/lines.h"
#include "base/printable.h"
#include "fmt/format.h"
#include "limit/start_message.h"

namespace tranche::hook {
namespace {

constexpr const char* kFile = "etc/ld.so.preload";
// The path of our library in containers. An image made from a limited container may name it.
constexpr std::string_view kOurs = "/usr/local/tranche/libtranche-limit.so";

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  bool is_open() const { return fd_ >= 0; }
  int get() const { return fd_; }

 private:
  int fd_;
};

// Finds the file without opening its content (O_PATH); -1 with errno.
int find_within(int root, const char* path) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  for (int attempt = 0; attempt < 8; ++attempt) {
    const auto fd = ::syscall(SYS_openat2, root, path, &how, sizeof(how));
    // EAGAIN: a part of the path was renamed meanwhile.
    if (fd >= 0 || errno != EAGAIN) return static_cast<int>(fd);
  }
  return -1;
}

Result<std::string> read_file(int fd) {
  // Opens the file that was checked, even if its name leads elsewhere by now.
  const Descriptor file(
      ::open(fmt::format("/proc/self/fd/{}", fd).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!file.is_open()) return std::unexpected(errno_error(errno, fmt::format("open {}", kFile)));
  std::string text(kLongestPreloadFile + 1, '\0');
  std::size_t length = 0;
  while (length < text.size()) {
    const auto n = ::read(file.get(), text.data() + length, text.size() - length);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return std::unexpected(errno_error(errno, fmt::format("read {}", kFile)));
    if (n == 0) break;
    length += static_cast<std::size_t>(n);
  }
  text.resize(length);
  return text;
}

// The rest of the file is unknown, but not empty.
void add_unread(std::string& names) {
  constexpr std::string_view kUnread = " (what follows 64 KiB is not read)";
  static_assert(kUnread.size() < limit::kLongestPreload);
  names.resize(std::min(names.size(), limit::kLongestPreload - kUnread.size()));
  names += names.empty() ? kUnread.substr(1) : kUnread;
}

}  // namespace

std::string preloaded_by(std::string_view text) {
  constexpr std::string_view kSeparators = " \t\n\r\v\f:";
  std::string names;
  while (!text.empty()) {
    const auto line = take_line(text);
    auto rest = line.substr(0, line.find('#'));
    while (true) {
      const auto begin = rest.find_first_not_of(kSeparators);
      if (begin == std::string_view::npos) break;
      rest.remove_prefix(begin);
      const auto name = rest.substr(0, rest.find_first_of(kSeparators));
      rest.remove_prefix(name.size());
      if (name == kOurs) continue;
      if (!names.empty()) names += ' ';
      names += name;
      if (names.size() > limit::kLongestPreload) {
        return printable(names, limit::kLongestPreload);
      }
    }
  }
  return printable(names, limit::kLongestPreload);
}

Result<std::string> find_image_preload(const std::filesystem::path& rootfs) {
  const Descriptor root(::open(rootfs.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root.is_open()) return std::unexpected(errno_error(errno, "open " + rootfs.string()));
  const Descriptor found(find_within(root.get(), kFile));
  if (!found.is_open()) {
    switch (errno) {
      case ENOENT:
      case ENOTDIR:
      case ELOOP:
        return "";
      case ENOSYS:
        return fail(Code::kUnsupported, "an image can be looked into from Linux 5.6 on");
      default:
        return std::unexpected(
            errno_error(errno, fmt::format("look for {} in {}", kFile, rootfs.string())));
    }
  }
  struct stat status{};
  if (::fstat(found.get(), &status) != 0) {
    return std::unexpected(errno_error(errno, fmt::format("look at {}", kFile)));
  }
  if (!S_ISREG(status.st_mode) || status.st_size == 0) return "";
  const auto text = read_file(found.get());
  if (!text) return std::unexpected(text.error());
  auto names = preloaded_by(std::string_view(*text).substr(0, kLongestPreloadFile));
  if (text->size() > kLongestPreloadFile) add_unread(names);
  return names;
}

}  // namespace tranche::hook
