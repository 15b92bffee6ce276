#pragma once
// A small HTTP server (HTTP/1.1), with TLS 1.2 and 1.3 for the API server's webhook requests and
// kubelet's probes, and with or without TLS for metrics. One thread handles all connections, so an
// idle or slow one costs no thread; a few more run the handler. Everything is bounded: connections,
// bytes of a body and of all bodies in flight, bytes of answers that nobody reads, and the time
// that a request may take to arrive. When all connections are taken, the one idle longest is
// closed; when too much is unread, the one whose answer waits longest. A request that is neither
// GET nor POST is refused.
//
// The certificate can be replaced at any time: open connections continue, new ones get the new one.
// Until one is set, every handshake fails.
//
// Thread-safe. The destructor closes the connections and waits for running handlers.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "http/served_certificate.h"

namespace tranche::http {

struct Request {
  std::string method;  // "GET", "POST"
  std::string path;    // without the query
  std::string body;
  // Headers: the first one of that name; empty: there is none.
  std::string accept = {};
  std::string accept_encoding = {};
  std::string authorization = {};
  std::string token = {};          // X-Tranche-Token
  std::string if_none_match = {};  // If-None-Match
  std::string peer = {};           // the address of who asks: "10.0.0.7"
};

struct Response {
  int status = 200;
  std::string body;
  std::string content_type = "text/plain; charset=utf-8";
  std::string content_encoding = {};  // "gzip"; empty: none
  // Further headers, ours alone: neither is checked.
  std::vector<std::pair<std::string, std::string>> headers = {};
};

// Called on several threads at once. The token asks it to return soon.
using Handler = std::function<Response(const Request&, const std::stop_token&)>;

class Server {
 public:
  struct Options {
    bool tls = true;  // false: plain HTTP, and OpenSSL is not loaded
    // "127.0.0.1", "::1"; empty: all addresses.
    std::string address;
    std::uint16_t port = 0;  // 0: any free one
    std::size_t max_body_bytes = std::size_t{1} << 20U;
    std::size_t max_bytes_under_way = std::size_t{64} << 20U;
    // Of all answers that clients have not read. One answer alone may be larger.
    std::size_t max_unread_bytes = std::size_t{64} << 20U;
    std::size_t max_connections = 256;
    // From the connection, or the first byte of the request, to its last byte.
    std::chrono::milliseconds request_time = std::chrono::seconds(10);
    // From the answer, which must be read by then, to the next request. Longer than the 90 s after
    // which Go's client closes an idle connection itself, so that it never sends a request on a
    // connection that we are closing.
    std::chrono::milliseconds idle_time = std::chrono::seconds(150);
    unsigned handlers = 4;  // threads
  };

  // Listens at once. kInvalidArgument: the address is invalid. kIo, kPermission: it cannot be used.
  // kUnsupported: TLS is wanted, and the machine has no OpenSSL.
  static Result<std::unique_ptr<Server>> open(Options options, Handler handler);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // kInvalidArgument: not a certificate, or the key does not match; the previous one stays.
  // kFailedPrecondition: the server speaks no TLS.
  Result<void> set_certificate(const Certificate& certificate);
  std::uint16_t port() const;

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tranche::http
