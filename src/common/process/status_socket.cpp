#include "process/status_socket.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <utility>

#include "base/checksum.h"
#include "base/utf8.h"

namespace tranche::process {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kLongestAnswer = 4096;

struct Address {
  sockaddr_un value{};
  socklen_t size = 0;
};

// An abstract name begins with a zero byte and ends with the address.
Address address_of(const std::string& name) {
  Address address;
  address.value.sun_family = AF_UNIX;
  std::memcpy(address.value.sun_path + 1, name.data(), name.size());
  address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

std::string name_of(std::string_view who, std::string_view of) {
  struct stat mounts{};
  const auto inode = ::stat("/proc/self/ns/mnt", &mounts) == 0 ? mounts.st_ino : 0;
  return fmt::format("tranche-{}-{}-{:016x}", who, inode, checksum(of));
}

const sockaddr* generic(const Address& address) {
  return reinterpret_cast<const sockaddr*>(&address.value);  // NOLINT: the system's own idiom
}

bool is_this_user(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == ::geteuid();
}

void limit_time(int fd, milliseconds time) {
  const timeval limit{.tv_sec = time.count() / 1000, .tv_usec = time.count() % 1000 * 1000};
  (void)::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  (void)::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

Result<std::string> read_to_end(int fd) {
  std::string text;
  std::array<char, 512> buffer;
  while (text.size() <= kLongestAnswer) {
    const ssize_t n = ::recv(fd, buffer.data(), buffer.size(), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(Code::kUnavailable, "it does not answer in time");
    if (n == 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(n));
  }
  return text;
}

}  // namespace

StatusSocket::StatusSocket(std::string_view who, std::string_view of, const Clock& clock)
    : name_(name_of(who, of)), clock_(clock) {}

StatusSocket::~StatusSocket() {
  if (!server_.joinable()) return;
  server_.request_stop();
  (void)!::eventfd_write(wake_.get(), 1);
}

Result<void> StatusSocket::beat(std::string text) {
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  {
    const std::scoped_lock lock(mutex_);
    text_ = std::move(text);
    text_.resize(utf8_prefix(text_, kLongestAnswer - 64).size());
    beat_ = clock_.now();
  }
  return server_.joinable() ? Result<void>() : open();
}

Result<void> StatusSocket::open() {
  const auto failed = [&] {
    return std::unexpected(errno_error(errno, "listen on the socket @" + name_));
  };
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.is_open()) return failed();
  const auto address = address_of(name_);
  if (::bind(socket.get(), generic(address), address.size) != 0) return failed();
  if (::listen(socket.get(), 16) != 0) return failed();
  Descriptor wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.is_open()) return failed();
  socket_ = std::move(socket);
  wake_ = std::move(wake);
  server_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
  return {};
}

void StatusSocket::serve(const std::stop_token& stop) {
  std::array<pollfd, 2> fds{{{.fd = socket_.get(), .events = POLLIN, .revents = 0},
                             {.fd = wake_.get(), .events = POLLIN, .revents = 0}}};
  while (!stop.stop_requested()) {
    if (::poll(fds.data(), fds.size(), -1) < 0) continue;
    const Descriptor peer(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!peer.is_open()) continue;
    // The answer fits into the socket's buffer, so a client that does not read it blocks no one.
    const auto text = answer();
    (void)::send(peer.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
}

std::string StatusSocket::answer() const {
  const std::scoped_lock lock(mutex_);
  const auto age = std::chrono::duration_cast<milliseconds>(clock_.now() - *beat_);
  return fmt::format("{} {}\n", age.count(), text_);
}

Result<StatusSocket::Answer> StatusSocket::ask(std::string_view who, std::string_view of,
                                               milliseconds timeout) {
  const auto address = address_of(name_of(who, of));
  const auto nobody = [] { return fail(Code::kUnavailable, "nobody answers"); };
  const Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.is_open()) return nobody();
  limit_time(socket.get(), timeout);
  if (::connect(socket.get(), generic(address), address.size) != 0) return nobody();
  if (!is_this_user(socket.get())) return nobody();
  ASSIGN_OR_RETURN(const auto text, read_to_end(socket.get()));
  std::int64_t age = 0;
  const auto* const end = text.data() + text.size();
  const auto number = std::from_chars(text.data(), end, age);
  if (number.ec != std::errc{} || number.ptr == end || *number.ptr != ' ' ||
      !text.ends_with('\n')) {
    return fail(Code::kUnavailable, "its answer is cut off");
  }
  return Answer{
      .age = milliseconds(age),
      .text = std::string(number.ptr + 1, static_cast<std::size_t>(end - number.ptr) - 2)};
}

}  // namespace tranche::process
