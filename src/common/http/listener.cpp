#include "http/listener.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>

namespace tranche::http {
namespace {

constexpr int kBacklog = 128;
// What the kernel keeps of one connection in each direction, by default up to several MB: of many
// connections whose clients do not read, that would be the memory of the whole control group.
constexpr int kKernelBytes = 128 << 10;

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Result<Addresses> resolve(const std::string& address, std::uint16_t port) {
  addrinfo wish{};
  wish.ai_family = AF_UNSPEC;
  wish.ai_socktype = SOCK_STREAM;
  wish.ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const auto number = std::to_string(port);
  const int error = ::getaddrinfo(address.c_str(), number.c_str(), &wish, &found);
  if (error == 0) return Addresses(found, &::freeaddrinfo);
  return fail(Code::kInvalidArgument,
              fmt::format("'{}' is no address: {}", address, ::gai_strerror(error)),
              "write one such as 127.0.0.1 or ::1");
}

std::uint16_t port_of(int socket) {
  sockaddr_storage bound{};
  socklen_t length = sizeof(bound);
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &length) != 0) return 0;
  // The port is at the same place in both forms.
  return ntohs(reinterpret_cast<const sockaddr_in*>(&bound)->sin_port);
}

Result<Listener> listen_at(int family, const sockaddr* address, socklen_t length,
                           const std::string& shown) {
  Descriptor socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.is_open()) return std::unexpected(errno_error(errno, "socket"));
  const int on = 1;
  const int off = 0;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  // Accepted sockets inherit it. Without it the end of a response waits 40 ms for the peer's
  // acknowledgement of its beginning.
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDBUF, &kKernelBytes, sizeof(kKernelBytes));
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUF, &kKernelBytes, sizeof(kKernelBytes));
  if (family == AF_INET6) {
    ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  }
  if (::bind(socket.get(), address, length) != 0 || ::listen(socket.get(), kBacklog) != 0) {
    return std::unexpected(errno_error(errno, fmt::format("listen on {}", shown)));
  }
  const auto port = port_of(socket.get());
  return Listener{.socket = std::move(socket), .port = port};
}

}  // namespace

Result<Listener> listen_on(const std::string& address, std::uint16_t port) {
  const auto shown = fmt::format("{}:{}", address, port);
  if (!address.empty()) {
    ASSIGN_OR_RETURN(const auto found, resolve(address, port));
    return listen_at(found->ai_family, found->ai_addr, found->ai_addrlen, shown);
  }
  sockaddr_in6 any6{};
  any6.sin6_family = AF_INET6;
  any6.sin6_port = htons(port);
  auto both = listen_at(AF_INET6, reinterpret_cast<const sockaddr*>(&any6), sizeof(any6), shown);
  if (both) return both;
  // A machine without IPv6.
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_port = htons(port);
  return listen_at(AF_INET, reinterpret_cast<const sockaddr*>(&any), sizeof(any), shown);
}

}  // namespace tranche::http
