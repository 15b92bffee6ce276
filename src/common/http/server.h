#pragma once
// A small HTTPS server (HTTP/1.1, TLS 1.2 and 1.3), for the API server's questions to a webhook and
// kubelet's probes. One thread holds all connections, so one that is idle or slow costs no thread;
// a few more run the handler. Everything is bounded: connections, bytes of a body and of all bodies
// under way, and the time that a request may take to arrive. When all connections are taken, the
// one that has been idle longest makes room.
//
// The certificate can be replaced at any time: connections that stand go on, the next ones get the
// new one. Until there is one every handshake fails.
//
// Thread-safe. The destructor ends the connections and waits for the handlers that run.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "base/result.h"

namespace tranche::http {

struct Request {
  std::string method;  // "GET", "POST"
  std::string path;    // without the query
  std::string body;
};

struct Response {
  int status = 200;
  std::string body;
  std::string content_type = "text/plain; charset=utf-8";
};

// Called on several threads at once. The token asks it to end soon.
using Handler = std::function<Response(const Request&, const std::stop_token&)>;

struct Certificate {
  std::string chain;  // PEM, the server's own first
  std::string key;    // PEM
  bool operator==(const Certificate&) const = default;
};

class Server {
 public:
  struct Options {
    // "127.0.0.1", "::1"; empty: all addresses.
    std::string address;
    std::uint16_t port = 0;  // 0: any that is free
    std::size_t max_body_bytes = std::size_t{1} << 20U;
    std::size_t max_bytes_under_way = std::size_t{64} << 20U;
    std::size_t max_connections = 256;
    // From the connection, or the request's first byte, to its last one.
    std::chrono::milliseconds request_time = std::chrono::seconds(10);
    // Longer than the 90 s after which Go's client closes an idle connection itself: it never
    // sends a request into one that we are closing.
    std::chrono::milliseconds idle_time = std::chrono::seconds(150);
    unsigned handlers = 4;  // threads
  };

  // Listens at once. kInvalidArgument: the address is none. kIo, kPermission: it cannot be used.
  // kUnsupported: the machine has no OpenSSL.
  static Result<std::unique_ptr<Server>> open(Options options, Handler handler);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // kInvalidArgument: it is no certificate, or the key is another's; the one before stays.
  Result<void> set_certificate(const Certificate& certificate);
  std::uint16_t port() const;

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tranche::http
