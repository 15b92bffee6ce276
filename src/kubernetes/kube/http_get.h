#pragma once
// GET requests to a server that is not the API server, or that stands behind its service proxy: an
// agent's /usage, the controller's /v1/fleet. Over the same connections as the API server's client:
// own authorities, rotating credential files, no proxy, no redirect, and an end to each request.
//
// Holds one connection, which it uses again. Used by one thread at a time. Starts no thread, but
// curl starts one to resolve a host name. Nothing is sent twice: who asks again and again is the
// caller.

#include <chrono>
#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kube/credentials.h"

namespace tranche::kube {

class HttpGet {
 public:
  struct Options {
    std::string user_agent = "tranche";
    std::string peer = "the server";  // for hints: "the agent", "the controller"
    // The credentials' proxied_token, or else their token, is sent in this header too: the API
    // server's service proxy keeps `Authorization` to itself. Empty: in none.
    std::string token_header = {};
    // The token is sent over plain HTTP as well. Only for a server that has no TLS.
    bool token_without_tls = false;
    std::chrono::milliseconds connect_timeout = std::chrono::seconds(5);
  };
  struct Limits {
    std::chrono::milliseconds deadline = std::chrono::seconds(10);  // for the whole answer
    std::size_t bytes = std::size_t{1} << 20U;                      // of it, once unpacked
    std::stop_token stop = {};                                      // ends the request soon
  };

  // Of `credentials`, `server` ("https://10.0.0.7:9400") is needed. Reads the credential files
  // once, so that an error in them is reported here. Does not connect. kInvalidArgument: no such
  // address, or a token without TLS. kUnsupported: the machine has no libcurl.
  static Result<std::unique_ptr<HttpGet>> open(Credentials credentials, Options options);
  ~HttpGet();
  HttpGet(const HttpGet&) = delete;
  HttpGet& operator=(const HttpGet&) = delete;

  // The body of an answer 2xx. `target`: path and query, "/usage". kPermission: 401 or 403.
  // kNotFound: 404. kTimeout: the deadline passed. kUnsupported: the body is too long. Else
  // kUnavailable: no connection, another status, or stopped.
  Result<std::string> get(std::string_view target, const Limits& limits);

 private:
  class Impl;
  explicit HttpGet(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tranche::kube
