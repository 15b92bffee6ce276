#include "process/handover.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

namespace tranche::process {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kLongestMessage = 512;
// What the other side may take for one message. It does nothing else meanwhile.
constexpr milliseconds kPatience{2000};
constexpr milliseconds kHelloTime{200};
constexpr std::string_view kHello = "hello ";
constexpr std::string_view kTake = "take ";

struct Message {
  std::string text;
  Descriptor descriptor;
};

Result<sockaddr_un> path_address(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.string().size() >= sizeof address.sun_path) {
    return fail(Code::kInvalidArgument, fmt::format("{} is too long for a socket", path.string()));
  }
  std::memcpy(address.sun_path, path.c_str(), path.string().size() + 1);
  return address;
}

const sockaddr* as_generic(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);  // NOLINT: the system's own idiom
}

void bound_time(int fd, milliseconds time) {
  const timeval limit{.tv_sec = time.count() / 1000, .tv_usec = time.count() % 1000 * 1000};
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

Descriptor open_handover_socket(int flags) {
  Descriptor fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0));
  bound_time(fd.get(), kPatience);
  return fd;
}

bool is_own_user(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == ::geteuid();
}

bool send_message(int fd, std::string_view text, int descriptor = -1) {
  iovec part{const_cast<char*>(text.data()), text.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> space{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (descriptor >= 0) {
    message.msg_control = space.data();
    message.msg_controllen = space.size();
    auto* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
  }
  return ::sendmsg(fd, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
}

// nullopt: the end, or no message in time.
std::optional<Message> take_message(int fd, int flags = 0) {
  std::array<char, kLongestMessage> text{};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> space{};
  iovec part{text.data(), text.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = space.data();
  message.msg_controllen = space.size();
  const ssize_t n = ::recvmsg(fd, &message, MSG_CMSG_CLOEXEC | flags);
  if (n <= 0) return std::nullopt;
  Message taken{.text = std::string(text.data(), static_cast<std::size_t>(n)), .descriptor = {}};
  const auto* header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_type == SCM_RIGHTS) {
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(header), sizeof(int));
    taken.descriptor = Descriptor(descriptor);
  }
  return taken;
}

bool is_over(int fd) {
  pollfd state{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&state, 1, 0) != 0;  // it says nothing before it is given something
}

}  // namespace

Result<std::unique_ptr<Handover>> Handover::listen(const std::filesystem::path& socket,
                                                   std::string who) {
  // Bound under another name and renamed, so that the path always has a socket.
  const auto fresh = socket.string() + ".new";
  ASSIGN_OR_RETURN(const auto address, path_address(fresh));
  auto fd = open_handover_socket(SOCK_NONBLOCK);
  ::unlink(fresh.c_str());
  if (::bind(fd.get(), as_generic(address), sizeof address) != 0 ||
      ::chmod(fresh.c_str(), 0600) != 0 || ::listen(fd.get(), 8) != 0 ||
      ::rename(fresh.c_str(), socket.c_str()) != 0) {
    return std::unexpected(errno_error(errno, "listen on " + socket.string()));
  }
  return std::unique_ptr<Handover>(new Handover(std::move(fd), std::move(who)));
}

void Handover::accept() {
  while (true) {
    Descriptor next(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!next.is_open()) return;
    bound_time(next.get(), kHelloTime);  // it says hello as soon as it is connected
    const auto hello = is_own_user(next.get()) ? take_message(next.get()) : std::nullopt;
    const bool ours = hello && hello->text == std::string(kHello) + who_;
    if (!hello || !send_message(next.get(), ours ? "wait" : "other") || !ours) continue;
    waiting_.push_back(std::move(next));
  }
}

bool Handover::has_successor() {
  std::erase_if(waiting_, [](const auto& one) { return is_over(one.get()); });
  return !waiting_.empty();
}

std::optional<Descriptor> Handover::give(const std::vector<NamedDescriptor>& held) {
  for (; has_successor(); waiting_.pop_back()) {
    auto& next = waiting_.back();
    bool sent = true;
    for (const auto& [name, descriptor] : held) {
      sent = sent && send_message(next.get(), std::string(kTake) + name, descriptor.get());
    }
    if (!sent || !send_message(next.get(), "end")) continue;
    return std::move(next);
  }
  return std::nullopt;
}

bool wait_until_serving(const Descriptor& successor, milliseconds timeout) {
  pollfd state{.fd = successor.get(), .events = POLLIN, .revents = 0};
  if (::poll(&state, 1, static_cast<int>(timeout.count())) <= 0) return false;
  const auto said = take_message(successor.get(), MSG_DONTWAIT);
  return said && said->text == "serving";
}

Predecessor::Greeting Predecessor::greet(const std::filesystem::path& socket,
                                         const std::string& who) {
  connection_.close();
  const auto address = path_address(socket);
  if (!address) return Greeting::kNone;
  auto fd = open_handover_socket(0);
  const bool connected = ::connect(fd.get(), as_generic(*address), sizeof *address) == 0 &&
                         is_own_user(fd.get()) && send_message(fd.get(), std::string(kHello) + who);
  const auto answer = connected ? take_message(fd.get()) : std::nullopt;
  if (!answer) return Greeting::kNone;
  if (answer->text != "wait") return Greeting::kOther;
  connection_ = std::move(fd);
  return Greeting::kWait;
}

bool Predecessor::speaks() const {
  pollfd state{.fd = connection_.get(), .events = POLLIN, .revents = 0};
  return connection_.is_open() && ::poll(&state, 1, 0) > 0;
}

std::optional<std::vector<NamedDescriptor>> Predecessor::receive() {
  std::vector<NamedDescriptor> held;
  while (auto message = take_message(connection_.get())) {
    if (message->text == "end") return held;
    if (!message->text.starts_with(kTake)) break;
    held.push_back({message->text.substr(kTake.size()), std::move(message->descriptor)});
  }
  connection_.close();
  return std::nullopt;
}

void Predecessor::tell_serving() { (void)send_message(connection_.get(), "serving"); }

}  // namespace tranche::process
