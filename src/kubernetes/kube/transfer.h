#pragma once
// One connection to the API server, or to a server like it (with curl's handles for it). It carries
// one exchange after another. An exchange ends at its deadline, and soon after its stop request,
// which wakes the waiting thread.
//
// A Transfer has one identity; for another identity create another Transfer. Used by one thread at
// a time. It starts no thread, but curl starts one to resolve a host name.

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kube/identity.h"
#include "kube/server_url.h"

namespace tranche::kube {

// What all transfers of a client have in common.
struct Endpoint {
  ServerUrl server;
  std::string tls_server_name;
  bool insecure = false;
  std::string user_agent;
  std::chrono::milliseconds connect_timeout{};
  std::string peer = "the API server";  // who it is, for hints
  std::string token_header = {};        // one that has the token too; empty: Authorization alone
};

struct Exchange {
  using Clock = std::chrono::steady_clock;

  std::string_view method;
  std::string_view target;  // path and query
  std::string_view body;    // sent with POST, PUT, PATCH and DELETE
  std::string_view content_type;
  Clock::time_point deadline;
  // The longest time without a byte from the server; nullopt: only the deadline counts.
  std::optional<std::chrono::milliseconds> quiet = {};
  std::stop_token stop;
  // Called from within curl with a piece of the answer's body; false ends the exchange.
  std::function<bool(long status, std::string_view piece)> take;
  // Called outside of curl, after some pieces were received; false ends the exchange.
  std::function<bool()> between = {};
  // Called once, outside of curl, when the response's headers have arrived.
  std::function<void(long status)> begun = {};
};

struct Outcome {
  enum class End {
    kDone,      // the whole response has arrived
    kEnded,     // take() or between() ended it
    kStopped,   // stop was requested
    kDeadline,  // the deadline passed, or no byte arrived for too long
    kBroken,    // no connection, or an incomplete response
  };
  End end = End::kDone;
  long status = 0;    // 0: no response
  bool sent = false;  // the request may have left this machine
  // The response's protocol: "HTTP/2", "HTTP/1.1"; empty: no response. Always a literal.
  std::string_view protocol = {};
  std::optional<std::chrono::seconds> retry_after = {};
  std::string trouble = {};  // kBroken: curl's message
  std::string hint = {};     // kBroken: what to do
};

class Transfer {
 public:
  // `endpoint` must outlive it.
  Transfer(const Endpoint& endpoint, std::shared_ptr<const Identity> identity);
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  const std::shared_ptr<const Identity>& identity() const { return identity_; }
  Outcome run(const Exchange& exchange);

 private:
  struct Handles;
  // False: libcurl refuses an option.
  bool prepare(const Exchange& exchange, const std::string& url);
  Outcome drive(const Exchange& exchange);
  Outcome conclude(int code);

  const Endpoint& endpoint_;
  std::shared_ptr<const Identity> identity_;
  std::unique_ptr<Handles> handles_;
};

}  // namespace tranche::kube
