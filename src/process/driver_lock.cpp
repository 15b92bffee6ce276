#include "process/driver_lock.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <condition_variable>
#include <mutex>

namespace tranche::process {
namespace {

constexpr off_t kWish = 0;
constexpr off_t kUse = 1;
constexpr std::chrono::milliseconds kLookAgain{10};

struct flock of_byte(off_t byte, short type) {
  struct flock lock{};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  return lock;
}

// False: somebody else has it.
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

// A file that is closed after it was open for writing is told to whoever watches its folder.
void tell_watchers(const std::filesystem::path& file) { (void)open_lock(file); }

// A state folder that was emptied has a new file since.
bool is_removed(int fd) {
  struct stat status{};
  return ::fstat(fd, &status) == 0 && status.st_nlink == 0;
}

// False: `stop` was requested.
bool wait_a_little(const std::stop_token& stop) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any().wait_for(lock, stop, kLookAgain, [] { return false; });
  return !stop.stop_requested();
}

}  // namespace

Result<void> DriverUser::open() {
  if (fd_.is_open() && !is_removed(fd_.get())) return {};
  ASSIGN_OR_RETURN(fd_, open_lock(file_));
  return {};
}

// First the lock, then a look at the wish: who wishes does it the other way round.
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

Result<std::shared_ptr<DriverPause>> DriverPause::take(const std::filesystem::path& file,
                                                       std::chrono::milliseconds limit,
                                                       const std::stop_token& stop) {
  auto fd = open_lock(file);
  if (!fd && fd.error().code == Code::kNotFound) return nullptr;
  if (!fd) return std::unexpected(std::move(fd.error()));
  const auto until = std::chrono::steady_clock::now() + limit;
  std::shared_ptr<DriverPause> pause(new DriverPause(*std::move(fd)));
  bool told = false;
  for (const off_t byte : std::array{kWish, kUse}) {
    while (!set(pause->fd_.get(), byte, F_WRLCK)) {
      if (byte == kUse && !std::exchange(told, true)) tell_watchers(file);
      if (!wait_a_little(stop)) return fail(Code::kTimeout, "it was told to stop");
      if (std::chrono::steady_clock::now() < until) continue;
      return byte == kWish
                 ? fail(Code::kTimeout, "another change of a GPU keeps the driver for itself")
                 : fail(Code::kTimeout, "the arbiter does not let go of the driver",
                        "see its log, and restart its Pod");
    }
  }
  return pause;
}

// Without the locks before watchers are told.
DriverPause::~DriverPause() {
  (void)set(fd_.get(), kUse, F_UNLCK);
  (void)set(fd_.get(), kWish, F_UNLCK);
}

}  // namespace tranche::process
