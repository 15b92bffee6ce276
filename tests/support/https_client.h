#pragma once
// One HTTPS connection, for tests of http/server.h: sends any text and reads one answer. Blocks.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <string>

#include "http/openssl_library.h"

// A function that a server does not need (http/openssl_functions.def).
#define TRANCHE_CLIENT_OPENSSL(name) \
  (reinterpret_cast<decltype(&name)>(::tranche::http::openssl_function(#name)))

namespace tranche::test {

class HttpsClient {
 public:
  // Connects to 127.0.0.1. `authority`: PEM that must have signed the server's certificate for that
  // address; empty: any will do.
  explicit HttpsClient(std::uint16_t port, const std::string& authority = {})
      : context_(SSL_CTX_new(TRANCHE_CLIENT_OPENSSL(TLS_client_method)()), SSL_CTX_free),
        ssl_(nullptr, SSL_free) {
    socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket_ < 0) return;
    const timeval patience{.tv_sec = 30, .tv_usec = 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    ::inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) return;
    if (!authority.empty()) trust(authority);
    ssl_.reset(SSL_new(context_.get()));
    TRANCHE_CLIENT_OPENSSL(SSL_set_fd)(ssl_.get(), socket_);
    is_connected_ = TRANCHE_CLIENT_OPENSSL(SSL_connect)(ssl_.get()) == 1;
  }
  ~HttpsClient() { close(); }
  HttpsClient(const HttpsClient&) = delete;
  HttpsClient& operator=(const HttpsClient&) = delete;

  bool is_connected() const { return is_connected_; }
  void close() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
  }
  bool send(const std::string& text) {
    return SSL_write(ssl_.get(), text.data(), static_cast<int>(text.size())) > 0;
  }
  // Headers and body of one answer with a Content-Length; what has come if the connection ends.
  std::string receive() {
    std::string text;
    std::string chunk(4096, '\0');
    while (!is_whole(text)) {
      const int got = SSL_read(ssl_.get(), chunk.data(), static_cast<int>(chunk.size()));
      if (got <= 0) return text;
      text.append(chunk, 0, static_cast<std::size_t>(got));
    }
    return text;
  }
  std::string ask(const std::string& path, const std::string& body = {}) {
    const auto head = (body.empty() ? "GET " : "POST ") + path + " HTTP/1.1\r\nHost: a\r\n";
    send(head + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    return receive();
  }
  bool is_ended() {
    char one = 0;
    return SSL_read(ssl_.get(), &one, 1) <= 0;
  }

 private:
  void trust(const std::string& authority) {
    const std::unique_ptr<BIO, decltype(&BIO_free_all)> text(
        BIO_new_mem_buf(authority.data(), static_cast<int>(authority.size())), BIO_free_all);
    X509* one = PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr);
    TRANCHE_CLIENT_OPENSSL(X509_STORE_add_cert)(
        TRANCHE_CLIENT_OPENSSL(SSL_CTX_get_cert_store)(context_.get()), one);
    X509_free(one);
    TRANCHE_CLIENT_OPENSSL(X509_VERIFY_PARAM_set1_ip_asc)(
        TRANCHE_CLIENT_OPENSSL(SSL_CTX_get0_param)(context_.get()), "127.0.0.1");
    TRANCHE_CLIENT_OPENSSL(SSL_CTX_set_verify)(context_.get(), SSL_VERIFY_PEER, nullptr);
  }
  static bool is_whole(const std::string& text) {
    const auto end = text.find("\r\n\r\n");
    const auto length = text.find("Content-Length: ");
    if (end == std::string::npos || length == std::string::npos) return false;
    return text.size() >= end + 4 + std::stoul(text.substr(length + 16));
  }

  int socket_ = -1;
  bool is_connected_ = false;
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_;
  std::unique_ptr<SSL, decltype(&SSL_free)> ssl_;
};

}  // namespace tranche::test

#undef TRANCHE_CLIENT_OPENSSL
