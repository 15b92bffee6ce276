#include "base/watch.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <system_error>

namespace tranche {
namespace {

namespace stdfs = std::filesystem;

// The number of links that the kernel follows (MAXSYMLINKS).
constexpr int kMaxLinks = 40;

// Events of a folder on the way: those that change where a name in it leads.
constexpr std::uint32_t kWayEvents =
    IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF;
// Events of the folder at the end of the way: writes count too. IN_CLOSE_WRITE, not IN_MODIFY: see
// the header.
constexpr std::uint32_t kEndEvents = kWayEvents | IN_CLOSE_WRITE;
constexpr std::uint32_t kOfFolderItself = IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED;

class EventFd {
 public:
  EventFd() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  EventFd(const EventFd&) = delete;
  EventFd& operator=(const EventFd&) = delete;
  ~EventFd() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

void push_front(std::deque<std::string>& names, const stdfs::path& path) {
  std::vector<std::string> parts;
  for (const auto& part : path.relative_path()) parts.push_back(part.string());
  names.insert(names.begin(), parts.begin(), parts.end());
}

}  // namespace

Result<Watch> Watch::open(std::vector<stdfs::path> paths) {
  const int fd = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (fd < 0) {
    auto error = errno_error(errno, "watch files for changes");
    error.hint = "raise the sysctl fs.inotify.max_user_instances";
    return std::unexpected(std::move(error));
  }
  Watch watch(fd);
  watch.paths_ = std::move(paths);
  TRY(watch.walk());
  return watch;
}

Watch::Watch(Watch&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      paths_(std::move(other.paths_)),
      interests_(std::move(other.interests_)) {}

Watch& Watch::operator=(Watch&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(paths_, other.paths_);
  std::swap(interests_, other.interests_);
  return *this;
}

Watch::~Watch() {
  if (fd_ >= 0) ::close(fd_);
}

bool Watch::drain() {
  if (!read_events()) return false;
  // If no more watches can be had, the present ones still serve, and the next event tries again.
  static_cast<void>(walk());
  return true;
}

Watch::Outcome Watch::wait(std::chrono::milliseconds timeout, const std::stop_token& stop) {
  const EventFd wake;  // outlives the callback that writes to it
  const std::stop_callback on_stop(stop, [&wake] { ::eventfd_write(wake.get(), 1); });
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (!stop.stop_requested()) {
    if (drain()) return Outcome::kChanged;
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return Outcome::kTimeout;
    std::array<pollfd, 2> fds = {{{fd_, POLLIN, 0}, {wake.get(), POLLIN, 0}}};
    ::poll(fds.data(), fds.size(), static_cast<int>(std::min<std::int64_t>(left.count(), 60'000)));
  }
  return Outcome::kStopped;
}

// Takes all events that have come; true: one of them is about a way that we watch.
bool Watch::read_events() {
  alignas(inotify_event) std::array<char, 16384> buffer;
  bool relevant = false;
  while (true) {
    const ssize_t size = ::read(fd_, buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return relevant;
    for (const char* at = buffer.data(); at < buffer.data() + size;) {
      inotify_event event{};
      std::memcpy(&event, at, sizeof event);
      const char* name = at + sizeof event;
      at += sizeof event + event.len;
      if ((event.mask & IN_Q_OVERFLOW) != 0) relevant = true;
      const auto interest = interests_.find(event.wd);
      if (interest == interests_.end()) continue;  // its folder is no longer on a way
      const bool named = event.len > 0 && (interest->second.any ||
                                           interest->second.names.contains(std::string(name)));
      if (named || (event.mask & kOfFolderItself) != 0) relevant = true;
      if ((event.mask & IN_IGNORED) != 0) interests_.erase(interest);
    }
  }
}

// Walks every path and watches the folders on the way. Ends watches of folders that no longer are.
Result<void> Watch::walk() {
  std::map<int, Interest> found;
  for (const auto& path : paths_) {
    auto walked = walk_path(path, found);
    if (walked) continue;
    // Keep the old watches in addition to the new ones: too many reports are better than none.
    for (auto& [wd, interest] : found) {
      interests_[wd].names.merge(interest.names);
      interests_[wd].any = interests_[wd].any || interest.any;
    }
    return walked;
  }
  for (const auto& [wd, interest] : interests_) {
    if (!found.contains(wd)) ::inotify_rm_watch(fd_, wd);
  }
  interests_ = std::move(found);
  return {};
}

// Follows `path` from the root folder, name by name, as the kernel would, up to its end or to the
// first missing name. Watches a folder before it looks at the name in it, so that no change falls
// between.
Result<void> Watch::walk_path(const stdfs::path& path, std::map<int, Interest>& found) {
  stdfs::path folder = "/";
  std::deque<std::string> names;
  push_front(names, path);
  int links = 0;
  while (!names.empty()) {
    const auto name = names.front();
    names.pop_front();
    if (name.empty() || name == ".") continue;
    if (name == "..") {
      folder = folder.parent_path();
      continue;
    }
    ASSIGN_OR_RETURN(auto* const interest, watch_folder(folder, kWayEvents, found));
    if (interest == nullptr) return {};
    interest->names.insert(name);
    std::error_code error;
    const auto type = stdfs::symlink_status(folder / name, error).type();
    if (type == stdfs::file_type::symlink) {
      const auto target = stdfs::read_symlink(folder / name, error);
      if (error || ++links > kMaxLinks) return {};
      if (target.is_absolute()) folder = "/";
      push_front(names, target);
      continue;
    }
    if (type != stdfs::file_type::directory) {
      TRY(watch_folder(folder, kEndEvents, found));
      return {};
    }
    folder /= name;
  }
  ASSIGN_OR_RETURN(auto* const interest, watch_folder(folder, kEndEvents, found));
  if (interest != nullptr) interest->any = true;
  return {};
}

// nullptr: the folder was removed meanwhile, or we may not read it. Its name in the folder above is
// watched, so nothing is missed.
Result<Watch::Interest*> Watch::watch_folder(const stdfs::path& folder, std::uint32_t events,
                                             std::map<int, Interest>& found) {
  // IN_MASK_ADD: a folder may be on one path's way and at the end of another's.
  const int wd =
      ::inotify_add_watch(fd_, folder.c_str(), events | IN_ONLYDIR | IN_EXCL_UNLINK | IN_MASK_ADD);
  if (wd >= 0) return &found[wd];
  if (errno != ENOSPC && errno != ENOMEM) return nullptr;
  auto error = errno_error(errno, fmt::format("watch {}", folder.string()));
  error.hint = "raise the sysctl fs.inotify.max_user_watches";
  return std::unexpected(std::move(error));
}

}  // namespace tranche
