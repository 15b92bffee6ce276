#include "kube/http_get.h"

#include <fmt/format.h>

#include <utility>

#include "base/printable.h"
#include "kube/curl_library.h"
#include "kube/identity.h"
#include "kube/server_url.h"
#include "kube/transfer.h"

namespace tranche::kube {
namespace {

// What is read, and what is repeated, of an answer that refuses.
constexpr std::size_t kMostOfRefusal = std::size_t{64} << 10U;
constexpr std::size_t kMaxReason = 200;

Code code_of(long status) {
  switch (status) {
    case 401:
    case 403:
      return Code::kPermission;
    case 404:
      return Code::kNotFound;
    default:
      return Code::kUnavailable;
  }
}

std::string hint_of_status(long status, const std::string& peer) {
  switch (status) {
    case 401:
      return fmt::format("{} does not accept the token, or needs one", peer);
    case 403:
      return "the token's owner is not allowed to read this";
    case 404:
      return fmt::format("is this the address of {}, and is its release new enough?", peer);
    case 429:
      return "ask less often";
    default:
      return {};
  }
}

std::string first_line(std::string_view body) {
  return printable(body.substr(0, body.find('\n')), kMaxReason);
}

}  // namespace

class HttpGet::Impl {
 public:
  Impl(Credentials credentials, ServerUrl server, std::unique_ptr<IdentityReloader> reloader,
       Options options)
      : options_(std::move(options)),
        reloader_(std::move(reloader)),
        endpoint_{.server = std::move(server),
                  .tls_server_name = std::move(credentials.tls_server_name),
                  .insecure = credentials.insecure,
                  .user_agent = options_.user_agent,
                  .connect_timeout = options_.connect_timeout,
                  .peer = options_.peer,
                  .token_header = options_.token_header} {}

  Result<std::string> get(std::string_view target, const Limits& limits);

 private:
  Error failure(const Outcome& outcome, const std::string& what) const;

  const Options options_;
  const std::unique_ptr<IdentityReloader> reloader_;
  const Endpoint endpoint_;
  std::unique_ptr<Transfer> transfer_;  // null: no connection that can be used again
};

Error HttpGet::Impl::failure(const Outcome& outcome, const std::string& what) const {
  switch (outcome.end) {
    case Outcome::End::kStopped:
      return {Code::kUnavailable, what + ": stopped"};
    case Outcome::End::kDeadline:
      return {Code::kTimeout, what + ": no answer in time"};
    default:
      return {Code::kUnavailable, fmt::format("{}: {}", what, outcome.trouble), outcome.hint};
  }
}

Result<std::string> HttpGet::Impl::get(std::string_view target, const Limits& limits) {
  const auto what = fmt::format("GET {}{}", endpoint_.server.to_string(), target);
  auto identity = reloader_->current();
  auto transfer = std::exchange(transfer_, nullptr);
  if (!transfer || transfer->identity() != identity) {
    transfer = std::make_unique<Transfer>(endpoint_, std::move(identity));
  }
  std::string body;
  bool too_long = false;
  Exchange exchange{.method = "GET",
                    .target = target,
                    .deadline = Exchange::Clock::now() + limits.deadline,
                    .stop = limits.stop};
  exchange.take = [&](long status, std::string_view piece) {
    const auto most = status < 300 ? limits.bytes : kMostOfRefusal;
    too_long = body.size() + piece.size() > most;
    if (!too_long) body.append(piece);
    return !too_long;
  };
  const auto outcome = transfer->run(exchange);
  if (too_long && outcome.status < 300) {
    return fail(Code::kUnsupported,
                fmt::format("{}: the answer is longer than {} bytes", what, limits.bytes),
                fmt::format("is this the address of {}?", options_.peer));
  }
  const bool answered = outcome.end == Outcome::End::kDone || too_long;
  if (!answered) return std::unexpected(failure(outcome, what));
  if (!too_long) transfer_ = std::move(transfer);
  if (outcome.status >= 200 && outcome.status < 300) return body;
  return fail(code_of(outcome.status),
              fmt::format("{}: status {}: {}", what, outcome.status, first_line(body)),
              hint_of_status(outcome.status, options_.peer));
}

HttpGet::HttpGet(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpGet::~HttpGet() = default;

Result<std::unique_ptr<HttpGet>> HttpGet::open(Credentials credentials, Options options) {
  TRY(load_curl());
  ASSIGN_OR_RETURN(auto server, parse_server_url(credentials.server));
  const bool secret = !credentials.token.empty() || !credentials.certificate.empty();
  if (!server.tls && secret && !options.token_without_tls) {
    return fail(Code::kInvalidArgument,
                fmt::format("credentials are not sent to {} without TLS", credentials.server),
                "write https://");
  }
  ASSIGN_OR_RETURN(auto reloader, IdentityReloader::open(credentials));
  return std::unique_ptr<HttpGet>(new HttpGet(std::make_unique<Impl>(
      std::move(credentials), std::move(server), std::move(reloader), std::move(options))));
}

Result<std::string> HttpGet::get(std::string_view target, const Limits& limits) {
  return impl_->get(target, limits);
}

}  // namespace tranche::kube
