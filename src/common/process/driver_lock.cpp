#include "process/driver_lock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/fs.h"
#include "base/pause.h"

namespace tranche::process {
namespace {

constexpr off_t kWish = 0;
constexpr off_t kUse = 1;
constexpr off_t kText = 2;
constexpr std::chrono::milliseconds kLookAgain{10};

struct flock of_byte(off_t byte, short type) {
  struct flock lock{};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  return lock;
}

// False: another process holds it.
bool set(int fd, off_t byte, short type) {
  auto lock = of_byte(byte, type);
  return ::fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

bool is_locked_by_other(int fd, off_t byte) {
  auto lock = of_byte(byte, F_RDLCK);
  return ::fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

Result<Descriptor> open_lock(const std::filesystem::path& file) {
  Descriptor fd(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd.is_open()) return std::unexpected(errno_error(errno, file.string()));
  return fd;
}

// Closing a file that was open for writing notifies the watchers of its folder.
void tell_watchers(const std::filesystem::path& file) { (void)open_lock(file); }

Result<void> write_text(int fd, const std::string& text) {
  const auto size = static_cast<ssize_t>(text.size());
  if (::ftruncate(fd, 0) == 0 && ::pwrite(fd, text.data(), text.size(), 0) == size) return {};
  return std::unexpected(errno_error(errno, "write what is asked of the users of the driver"));
}

// A state folder that was emptied has a new file since.
bool is_removed(int fd) {
  struct stat status{};
  return ::fstat(fd, &status) == 0 && status.st_nlink == 0;
}

}  // namespace

Result<void> DriverUser::open() {
  if (fd_.is_open() && !is_removed(fd_.get())) return {};
  ASSIGN_OR_RETURN(fd_, open_lock(file_));
  return {};
}

// First takes the lock, then looks at the wish; whoever wishes does it in the opposite order.
Result<bool> DriverUser::begin() {
  TRY(open());
  if (!set(fd_.get(), kUse, F_RDLCK)) return false;
  if (!is_locked_by_other(fd_.get(), kWish)) return true;
  end();
  return false;
}

bool DriverUser::is_unwanted() const {
  return fd_.is_open() && is_locked_by_other(fd_.get(), kWish);
}

void DriverUser::end() {
  if (fd_.is_open()) (void)set(fd_.get(), kUse, F_UNLCK);
}

Result<std::string> DriverUser::wish() const {
  // Opened again, because each open file has its own read position.
  return FsRoot().read(file_);
}

Result<std::shared_ptr<DriverPause>> DriverPause::take(const DriverRequest& request,
                                                       std::chrono::milliseconds limit,
                                                       const std::stop_token& stop) {
  auto fd = open_lock(request.file);
  if (!fd && fd.error().code == Code::kNotFound) return nullptr;
  if (!fd) return std::unexpected(std::move(fd.error()));
  const auto until = std::chrono::steady_clock::now() + limit;
  std::shared_ptr<DriverPause> pause(new DriverPause(*std::move(fd)));
  bool told = false;
  for (const off_t byte : std::array{kText, kWish, kUse}) {
    // Users read the text when they see the wish.
    if (byte == kWish) TRY(write_text(pause->fd_.get(), request.wish));
    while (!set(pause->fd_.get(), byte, F_WRLCK)) {
      if (byte == kUse && !std::exchange(told, true)) tell_watchers(request.file);
      if (!tranche::pause(kLookAgain, stop)) return fail(Code::kTimeout, "it was told to stop");
      if (std::chrono::steady_clock::now() < until) continue;
      return byte == kUse
                 ? fail(Code::kTimeout, request.trouble, request.remedy)
                 : fail(Code::kTimeout, "another change of a GPU keeps the driver for itself");
    }
  }
  return pause;
}

// Releases the locks before watchers are notified.
DriverPause::~DriverPause() {
  (void)set(fd_.get(), kUse, F_UNLCK);
  (void)set(fd_.get(), kWish, F_UNLCK);
  (void)set(fd_.get(), kText, F_UNLCK);
}

}  // namespace tranche::process
