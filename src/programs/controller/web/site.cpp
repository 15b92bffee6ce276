#include "controller/web/site.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/fs.h"
#include "base/letter_case.h"
#include "controller/web/visible.h"
#include "fleet/fleet_json.h"
#include "http/compress.h"
#include "http/gzip.h"
#include "metrics/format.h"

namespace tranche::controller {
namespace {

constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

http::Response refused(int status, std::string why) {
  return {.status = status, .body = std::move(why) + '\n'};
}

http::Response unknown_token(std::string why) {
  auto response = refused(401, std::move(why));
  response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

http::Response later(int status, std::string why) {
  auto response = refused(status, std::move(why));
  response.headers.emplace_back("Retry-After", "2");
  return response;
}

// "" without one. The scheme is in any case (RFC 6750, section 2.1).
std::string token_in(const http::Request& request) {
  if (!request.token.empty()) return request.token;
  constexpr std::string_view kScheme = "bearer ";
  const std::string_view header = request.authorization;
  if (header.size() <= kScheme.size() ||
      !same_without_case(header.substr(0, kScheme.size()), kScheme)) {
    return {};
  }
  return std::string(header.substr(header.find_last_of(' ') + 1));
}

// What a reader sees, as the key of a text. A newline is in no name.
std::string key_of(const Access::Sight& sight) {
  if (sight.all) return "*";
  std::string key;
  for (const auto& ns : sight.some) key += ns + '\n';
  return key;
}

class Counted {
 public:
  explicit Counted(std::atomic<int>& count) : count_(count), number_(++count) {}
  ~Counted() { --count_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  int number() const { return number_; }

 private:
  std::atomic<int>& count_;
  const int number_;
};

}  // namespace

Site::Site(Ports ports, Access& access, const std::string& token_file, const Clock& clock,
           const Log& log)
    : ports_(std::move(ports)),
      access_(access),
      clock_(clock),
      log_(log),
      gate_(token_file, "the cluster's metrics are refused to all", log) {}

http::Response Site::answer(const http::Request& request, const std::stop_token& stop) {
  auto response = route(request, stop);
  const auto has = [&](std::string_view name) {
    return std::ranges::any_of(response.headers,
                               [&](const auto& header) { return header.first == name; });
  };
  response.headers.emplace_back("Content-Security-Policy", kPolicy);
  response.headers.emplace_back("X-Content-Type-Options", "nosniff");
  response.headers.emplace_back("Referrer-Policy", "no-referrer");
  if (!has("Cache-Control")) response.headers.emplace_back("Cache-Control", "no-store");
  return response;
}

http::Response Site::route(const http::Request& request, const std::stop_token& stop) {
  if (request.method != "GET") return refused(405, "only GET");
  if (request.path == "/healthz") return {.body = "ok\n"};
  if (request.path == "/v1/fleet") return fleet(request, stop);
  if (request.path == "/metrics") return metrics(request);
  return part(request);
}

// ---- the fleet

http::Response Site::fleet(const http::Request& request, const std::stop_token& stop) {
  const auto token = token_in(request);
  if (token.empty()) return unknown_token("a bearer token of the cluster is needed");
  const auto now = clock_.now();
  const bool is_known = access_.knows(token);
  const bool allowed =
      is_known ? readers_.allows(token, now) : strangers_.allows(request.peer, now);
  if (!allowed) return later(429, "too many requests; ask every few seconds");
  const Counted counted(is_known ? readers_under_way_ : strangers_under_way_);
  if (counted.number() > (is_known ? kMostReadersAtOnce : kMostStrangersAtOnce)) {
    return later(503, "busy; try again in a moment");
  }
  return fleet_of(request, token, stop);
}

http::Response Site::fleet_of(const http::Request& request, const std::string& token,
                              const std::stop_token& stop) {
  const auto reader = access_.reader(token, stop);
  if (!reader) {
    switch (reader.error().code) {
      case Code::kPermission:
        return unknown_token(reader.error().message());
      case Code::kFailedPrecondition:
        return refused(403, reader.error().message());
      default:
        log_.debug("the fleet is refused: " + reader.error().message());
        return later(503, "the API server does not say whose token it is; try again");
    }
  }
  const auto fleet = fleet_now();
  if (!fleet) return later(503, fleet.error().message());
  const auto text = text_of(*fleet, access_.sight(token, *reader, namespaces_of(**fleet), stop));
  http::Response response{.content_type = "application/json"};
  const bool packed = http::accepts_gzip(request.accept_encoding);
  response.body = packed ? text->packed : text->plain;
  if (packed) response.content_encoding = "gzip";
  return response;
}

Result<std::shared_ptr<const fleet::Fleet>> Site::fleet_now() {
  {
    const std::scoped_lock lock(mutex_);
    if (made_.fleet != nullptr && clock_.now() - made_.at < kFleetKept) return made_.fleet;
  }
  ASSIGN_OR_RETURN(auto fleet, ports_.fleet());
  auto shared = std::make_shared<const fleet::Fleet>(std::move(fleet));
  const std::scoped_lock lock(mutex_);
  made_ = {.at = clock_.now(), .fleet = shared};
  return shared;
}

std::shared_ptr<const Site::Text> Site::text_of(const std::shared_ptr<const fleet::Fleet>& fleet,
                                                const Access::Sight& sight) {
  const auto key = key_of(sight);
  {
    const std::scoped_lock lock(mutex_);
    const auto found = made_.texts.find(key);
    if (made_.fleet == fleet && found != made_.texts.end()) return found->second;
  }
  auto text = std::make_shared<Text>();
  text->plain = sight.all ? to_json(*fleet) : to_json(visible(*fleet, [&](const std::string& ns) {
    return sight.some.contains(ns);
  }));
  text->packed = http::gzip(text->plain);
  const std::scoped_lock lock(mutex_);
  if (made_.fleet == fleet && made_.texts.size() < kMostTexts) made_.texts[key] = text;
  return text;
}

// ---- metrics

http::Response Site::metrics(const http::Request& request) {
  if (!gate_.admits(request)) return unknown_token("the bearer token of metrics is needed");
  const auto format = tranche::metrics::negotiate(request.accept);
  const auto page = page_now(format);
  if (!page) return later(503, page.error().message());
  http::Response response{.body = *page,
                          .content_type = std::string(tranche::metrics::content_type(format))};
  http::compress(request, response);
  return response;
}

// Made by one at a time, so that those who ask without end cost no more than one who does not.
Result<std::string> Site::page_now(tranche::metrics::Format format) {
  const std::scoped_lock lock(pages_mutex_);
  auto& page = pages_[format];
  if (!page.text.empty() && clock_.now() - page.at < kPageKept) return page.text;
  ASSIGN_OR_RETURN(const auto figures, ports_.figures());
  page.text = figures ? fleet_page(*figures, {.now = clock_.wall_now(), .format = format})
                      : following_page(format);
  page.at = clock_.now();
  return page.text;
}

// ---- the page

http::Response Site::part(const http::Request& request) const {
  const auto found = ports_.part(request.path);
  if (!found) return refused(404, "see /, /v1/fleet and /metrics");
  http::Response response;
  // The page's parts are of one release: a browser asks each time whether they are the same.
  response.headers.emplace_back("Cache-Control", "no-cache");
  response.headers.emplace_back("ETag", found->etag);
  response.content_type = found->content_type;
  if (!found->etag.empty() && request.if_none_match == found->etag) {
    response.status = 304;
    return response;
  }
  response.body = found->body;
  http::compress(request, response);
  return response;
}

}  // namespace tranche::controller
