#include "hook/arbiter_client.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>

#include "fmt/format.h"

namespace tranche::hook {
namespace {

using Time = std::chrono::steady_clock::time_point;
using std::chrono::milliseconds;

constexpr milliseconds kBetween{100};

milliseconds left(Time deadline) {
  return std::max(std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now()),
                  milliseconds(0));
}

class Socket {
 public:
  Socket() : fd_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {}
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

Result<limit::StartAnswer> receive(int socket, Time deadline) {
  pollfd entry{.fd = socket, .events = POLLIN, .revents = 0};
  while (true) {
    const auto time = left(deadline);
    const int ready = ::poll(&entry, 1, static_cast<int>(time.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) return fail(Code::kTimeout, "the arbiter does not answer");
    std::array<char, limit::kLargestStartPacket> buffer{};
    const auto n = ::recv(socket, buffer.data(), buffer.size(), 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (n <= 0) return fail(Code::kUnavailable, "the arbiter has hung up");
    return limit::decode_start_answer({buffer.data(), static_cast<std::size_t>(n)});
  }
}

Result<limit::StartAnswer> ask_once(const sockaddr_un& address, const std::string& packet,
                                    Time deadline) {
  const Socket socket;
  if (socket.get() < 0) return std::unexpected(errno_error(errno, "socket"));
  // Fails at once if no process listens or too many clients wait.
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      ::send(socket.get(), packet.data(), packet.size(), MSG_NOSIGNAL) < 0) {
    return fail(Code::kUnavailable, fmt::format("no arbiter answers at {}: {}", address.sun_path,
                                                std::strerror(errno)));
  }
  return receive(socket.get(), deadline);
}

}  // namespace

Result<limit::StartAnswer> ask_arbiter(const std::filesystem::path& socket,
                                       const limit::StartNotice& notice, Time deadline,
                                       bool persists) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket.native().size() >= sizeof(address.sun_path)) {
    return fail(Code::kInvalidArgument,
                fmt::format("{} is too long for a socket", socket.string()));
  }
  std::memcpy(address.sun_path, socket.c_str(), socket.native().size() + 1);
  const std::string packet = limit::encode(notice);
  while (true) {
    auto answer = ask_once(address, packet, deadline);
    const bool gone = !answer && answer.error().code == Code::kUnavailable;
    if (!gone || !persists || left(deadline) <= kBetween) return answer;
    std::this_thread::sleep_for(kBetween);
  }
}

}  // namespace tranche::hook
