#include "tenant/socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "fmt/format.h"

namespace tranche::tenant {

using namespace limit;

namespace {

constexpr int kBacklog = 256;

bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

// The size of the packet, which may be more than `data` holds; and the descriptor that came with
// it. There is room for one: the kernel drops the others.
ssize_t receive_with_memory(int fd, std::span<std::byte> data,
                            std::optional<ForeignDescriptor>& memory) {
  iovec place{data.data(), data.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &place;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = CMSG_LEN(sizeof(int));
  const auto n = recvmsg(fd, &message, MSG_DONTWAIT | MSG_TRUNC | MSG_CMSG_CLOEXEC);
  const cmsghdr* header = n > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (header == nullptr || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS ||
      header->cmsg_len != CMSG_LEN(sizeof(int))) {
    return n;
  }
  int received = -1;
  std::memcpy(&received, CMSG_DATA(header), sizeof(received));
  memory.emplace(received);
  return n;
}

}  // namespace

Result<std::optional<Incoming>> Connection::receive(std::optional<ForeignDescriptor>* memory) {
  std::array<std::byte, kLargestPacket> buffer;
  const auto n = memory != nullptr
                     ? receive_with_memory(fd(), buffer, *memory)
                     : recv(fd(), buffer.data(), buffer.size(), MSG_DONTWAIT | MSG_TRUNC);
  if (n < 0 && (would_block(errno) || errno == EINTR)) return std::nullopt;
  if (n <= 0) return fail(Code::kUnavailable, "the process has closed its connection");
  if (static_cast<std::size_t>(n) <= buffer.size()) {
    const auto message = parse(std::span(buffer).first(static_cast<std::size_t>(n)));
    if (message) return message;
  }
  return fail(Code::kInvalidArgument,
              fmt::format("process {} sent {} bytes that are no message", peer_, n));
}

Result<void> Connection::send(const wire::Welcome& welcome, int policy_fd, int usage_fd) {
  iovec data{const_cast<wire::Welcome*>(&welcome), sizeof(welcome)};
  alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (welcome.answer == wire::Answer::kAccepted) {
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(2 * sizeof(int));
    const int fds[2] = {policy_fd, usage_fd};
    std::memcpy(CMSG_DATA(header), fds, sizeof(fds));
  }
  if (sendmsg(fd(), &message, MSG_DONTWAIT | MSG_NOSIGNAL) != sizeof(welcome)) {
    return fail(Code::kUnavailable,
                fmt::format("process {} takes no answer: {}", peer_, std::strerror(errno)));
  }
  return {};
}

Result<Listener> Listener::open(const std::filesystem::path& path, mode_t mode) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.native().size() >= sizeof(address.sun_path)) {
    return fail(Code::kInvalidArgument, fmt::format("{} is too long for a socket", path.string()));
  }
  std::memcpy(address.sun_path, path.c_str(), path.native().size() + 1);
  Descriptor fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.is_open()) return std::unexpected(errno_error(errno, "socket"));
  if (unlink(path.c_str()) != 0 && errno != ENOENT) {
    return std::unexpected(errno_error(errno, "remove " + path.string()));
  }
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      chmod(path.c_str(), mode) != 0 || listen(fd.get(), kBacklog) != 0) {
    return std::unexpected(errno_error(errno, "listen at " + path.string()));
  }
  return Listener(std::move(fd));
}

Result<std::optional<Peer>> Listener::accept() {
  Descriptor fd(accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!fd.is_open()) {
    if (would_block(errno) || errno == ECONNABORTED || errno == EINTR) return std::nullopt;
    return std::unexpected(errno_error(errno, "accept a process"));
  }
  auto process = Process::peer_of(fd.get());
  if (process) return Peer{Connection(std::move(fd), process->id().pid), *std::move(process)};
  if (process.error().code == Code::kNotFound) return std::nullopt;
  return std::unexpected(std::move(process).error().with_context("a process that registers"));
}

}  // namespace tranche::tenant
