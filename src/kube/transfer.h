#pragma once
// One connection to the API server (with what curl keeps for it), and one exchange after the other
// over it. Every exchange ends soon after its stop request (a wake-up, not a poll) and at its
// deadline.
//
// Lives as long as its identity is good: with another identity make another Transfer. Used by one
// thread at a time; starts no thread (curl starts one to look up a host's name).

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

// The same for all transfers of a client.
struct Endpoint {
  ServerUrl server;
  std::string tls_server_name;
  bool insecure = false;
  std::string user_agent;
  std::chrono::milliseconds connect_timeout{};
};

struct Exchange {
  using Clock = std::chrono::steady_clock;

  std::string_view method;
  std::string_view target;  // path and query
  std::string_view body;    // sent with POST, PUT, PATCH and DELETE
  std::string_view content_type;
  Clock::time_point deadline;
  // The longest time without a byte from the server.
  std::optional<std::chrono::milliseconds> quiet = {};
  std::stop_token stop;
  // Takes a piece of the answer's body; false ends the exchange.
  std::function<bool(long status, std::string_view piece)> take;
  // Called outside of curl, after some pieces were taken; false ends the exchange.
  std::function<bool()> between = {};
  // Called once, outside of curl, when the answer's head is there.
  std::function<void(long status)> begun = {};
};

struct Outcome {
  enum class End {
    kDone,      // the whole answer is there
    kEnded,     // take() or between() ended it
    kStopped,   // the stop request
    kDeadline,  // the deadline, or too long without a byte
    kBroken,    // no connection, or no whole answer
  };
  End end = End::kDone;
  long status = 0;    // 0: no answer
  bool sent = false;  // the request may have left this machine
  // Of the answer, as it was agreed upon when the connection was made: "HTTP/2", "HTTP/1.1"; empty:
  // no answer. A literal.
  std::string_view protocol = {};
  std::optional<std::chrono::seconds> retry_after = {};
  std::string trouble = {};  // kBroken: what curl says
  std::string hint = {};     // and what to do
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
