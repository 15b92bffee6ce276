#pragma once
// One plain HTTP connection, for tests of http/server.h: sends any bytes and reads one answer.
// Blocks.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace tranche::test {

class HttpClient {
 public:
  // Connects to 127.0.0.1. `receive_buffer`: bytes that the kernel keeps of what is not read yet;
  // 0: as many as it likes.
  explicit HttpClient(std::uint16_t port, int receive_buffer = 0)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval patience{.tv_sec = 30, .tv_usec = 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    if (receive_buffer > 0) {
      ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof(receive_buffer));
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    is_connected_ = ::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  }
  ~HttpClient() { ::close(socket_); }
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  bool is_connected() const { return is_connected_; }
  // False: the server has ended the connection.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  // Headers and body of one answer with a Content-Length; what has come if the connection ends.
  std::string receive() {
    while (length_of_answer() == std::string::npos) {
      if (!receive_more()) return std::exchange(received_, {});
    }
    const auto answer = received_.substr(0, length_of_answer());
    received_.erase(0, answer.size());
    return answer;
  }
  // `headers`: each with its line end.
  std::string ask(const std::string& path, const std::string& body = {},
                  const std::string& headers = {}) {
    send((body.empty() ? "GET " : "POST ") + path + " HTTP/1.1\r\nHost: a\r\n" + headers +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    return receive();
  }
  // Waits for the beginning of an answer and leaves it unread.
  bool has_answer() const {
    char one = 0;
    return ::recv(socket_, &one, 1, MSG_PEEK) == 1;
  }
  // Reads until the server ends the connection. False: it does not.
  bool is_ended() {
    while (receive_more()) {
    }
    return has_end_;
  }

 private:
  bool receive_more() {
    std::array<char, 16384> chunk;
    const auto got = ::recv(socket_, chunk.data(), chunk.size(), 0);
    has_end_ = got == 0 || (got < 0 && errno == ECONNRESET);
    if (got <= 0) return false;
    received_.append(chunk.data(), static_cast<std::size_t>(got));
    return true;
  }
  // npos: it is not all there.
  std::size_t length_of_answer() const {
    const auto end = received_.find("\r\n\r\n");
    const auto length = received_.find("Content-Length: ");
    if (end == std::string::npos || length > end) return std::string::npos;
    const auto all = end + 4 + std::stoul(received_.substr(length + 16));
    return received_.size() >= all ? all : std::string::npos;
  }

  int socket_ = -1;
  bool is_connected_ = false;
  bool has_end_ = false;
  std::string received_;
};

}  // namespace tranche::test
