#include "kube/transfer.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <utility>

#include "kube/curl_library.h"

namespace tranche::kube {
namespace {

using std::chrono::milliseconds;

struct ListDeleter {
  void operator()(curl_slist* list) const { curl().slist_free_all(list); }
};
using HeaderList = std::unique_ptr<curl_slist, ListDeleter>;

void add(HeaderList& list, const std::string& header) {
  list.reset(curl().slist_append(list.release(), header.c_str()));
}

// With these settings a vanished peer is detected after 30 s.
int set_keepalive(void* /*context*/, curl_socket_t socket, curlsocktype purpose) {
  if (purpose != CURLSOCKTYPE_IPCXN) return CURL_SOCKOPT_OK;
  const auto set = [&](int level, int name, int value) {
    ::setsockopt(socket, level, name, &value, sizeof value);
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 15);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 30'000);
  return CURL_SOCKOPT_OK;
}

curl_blob blob_of(const std::string& text) {
  // Not copied: the identity outlives the handle. curl does not write to it.
  return {const_cast<char*>(text.data()), text.size(), CURL_BLOB_NOCOPY};
}

// `version`: CURLINFO_HTTP_VERSION.
std::string_view name_of_protocol(long version) {
  switch (version) {
    case CURL_HTTP_VERSION_1_0:
      return "HTTP/1.0";
    case CURL_HTTP_VERSION_1_1:
      return "HTTP/1.1";
    case CURL_HTTP_VERSION_2_0:
      return "HTTP/2";
    default:
      return {};
  }
}

std::string hint_of(CURLcode code, std::string_view trouble, const std::string& peer) {
  switch (code) {
    case CURLE_PEER_FAILED_VERIFICATION:
      return fmt::format(
          "{}'s certificate is not signed by the certificate authority of the credentials, or is "
          "for another host",
          peer);
    case CURLE_SSL_CERTPROBLEM:
      return "the client certificate or its key is broken, or they do not belong together";
    case CURLE_SSL_CACERT_BADFILE:
      return "the certificate authority of the credentials cannot be read";
    case CURLE_COULDNT_RESOLVE_HOST:
      return fmt::format("{}'s name cannot be looked up", peer);
    case CURLE_COULDNT_CONNECT:
      return fmt::format("is {} running, and is its address right?", peer);
    default:
      if (trouble.find("alert") == std::string_view::npos) return {};
      return fmt::format("{} does not accept the client certificate", peer);
  }
}

}  // namespace

struct Transfer::Handles {
  CURL* easy = curl().easy_init();
  CURLM* multi = curl().multi_init();
  HeaderList headers;
  HeaderList connect_to;
  std::array<char, CURL_ERROR_SIZE> trouble{};
  // Of the running exchange.
  const Exchange* exchange = nullptr;
  Exchange::Clock::time_point last_byte;
  bool refused = false;  // take() returned false

  ~Handles() {
    curl().easy_cleanup(easy);
    curl().multi_cleanup(multi);
  }

  static std::size_t write(char* data, std::size_t size, std::size_t count, void* context) {
    auto& self = *static_cast<Handles*>(context);
    const std::string_view piece(data, size * count);
    self.last_byte = Exchange::Clock::now();
    long status = 0;
    curl().easy_getinfo(self.easy, CURLINFO_RESPONSE_CODE, &status);
    if (self.exchange->take(status, piece)) return piece.size();
    self.refused = true;
    return 0;
  }
};

Transfer::Transfer(const Endpoint& endpoint, std::shared_ptr<const Identity> identity)
    : endpoint_(endpoint), identity_(std::move(identity)), handles_(std::make_unique<Handles>()) {}
Transfer::~Transfer() = default;

bool Transfer::prepare(const Exchange& exchange, const std::string& url) {
  auto& handles = *handles_;
  auto* const easy = handles.easy;
  bool good = true;
  const auto set = [&](CURLoption option, auto value) {
    good = curl().easy_setopt(easy, option, value) == CURLE_OK && good;
  };
  curl().easy_reset(easy);  // keeps the connection
  handles.trouble.front() = '\0';
  handles.refused = false;
  handles.exchange = &exchange;
  handles.last_byte = Exchange::Clock::now();

  set(CURLOPT_URL, url.c_str());
  set(CURLOPT_PATH_AS_IS, 1L);
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
  set(CURLOPT_PROXY, "");  // credentials only go to the server itself
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_ERRORBUFFER, handles.trouble.data());
  set(CURLOPT_USERAGENT, endpoint_.user_agent.c_str());
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(endpoint_.connect_timeout.count()));
  set(CURLOPT_SOCKOPTFUNCTION, &set_keepalive);
  set(CURLOPT_WRITEFUNCTION, &Handles::write);
  set(CURLOPT_WRITEDATA, handles_.get());
  // Not for a watch: compression may delay its events.
  if (!exchange.quiet) set(CURLOPT_ACCEPT_ENCODING, "gzip");

  handles.headers.reset();
  add(handles.headers, "Accept: application/json");
  add(handles.headers, "Expect:");  // else curl waits for "100 Continue" before it sends a body
  if (!identity_->token.empty()) add(handles.headers, "Authorization: Bearer " + identity_->token);
  const auto& proxied =
      identity_->proxied_token.empty() ? identity_->token : identity_->proxied_token;
  if (!endpoint_.token_header.empty() && !proxied.empty()) {
    add(handles.headers, fmt::format("{}: {}", endpoint_.token_header, proxied));
  }
  if (exchange.method != "GET") {
    set(CURLOPT_POST, 1L);
    set(CURLOPT_POSTFIELDS, exchange.body.data());
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(exchange.body.size()));
    set(CURLOPT_CUSTOMREQUEST, std::string(exchange.method).c_str());
    add(handles.headers, fmt::format("Content-Type: {}", exchange.content_type));
  }
  set(CURLOPT_HTTPHEADER, handles.headers.get());

  if (endpoint_.insecure) {
    set(CURLOPT_SSL_VERIFYPEER, 0L);
    set(CURLOPT_SSL_VERIFYHOST, 0L);
  }
  const auto set_blob = [&](CURLoption option, const std::string& text) {
    if (text.empty()) return;
    auto blob = blob_of(text);
    set(option, &blob);
  };
  set_blob(CURLOPT_CAINFO_BLOB, identity_->authority);
  set_blob(CURLOPT_SSLCERT_BLOB, identity_->certificate);
  set_blob(CURLOPT_SSLKEY_BLOB, identity_->key);
  if (!endpoint_.tls_server_name.empty()) {
    handles.connect_to.reset();
    add(handles.connect_to, "::" + endpoint_.server.authority());
    set(CURLOPT_CONNECT_TO, handles.connect_to.get());
  }
  return good;
}

Outcome Transfer::run(const Exchange& exchange) {
  if (exchange.stop.stop_requested()) return {Outcome::End::kStopped};
  auto server = endpoint_.server;
  if (!endpoint_.tls_server_name.empty()) server.host = endpoint_.tls_server_name;
  const auto url = server.to_string() + std::string(exchange.target);
  if (!prepare(exchange, url)) {
    Outcome outcome{Outcome::End::kBroken};
    outcome.trouble = "libcurl does not know an option that is needed";
    outcome.hint = "install libcurl 7.85 or newer, with TLS and HTTP/2";
    return outcome;
  }
  curl().multi_add_handle(handles_->multi, handles_->easy);
  Outcome outcome;
  {
    const std::stop_callback wake(exchange.stop,
                                  [multi = handles_->multi] { curl().multi_wakeup(multi); });
    outcome = drive(exchange);
  }
  long sent = 0;
  curl().easy_getinfo(handles_->easy, CURLINFO_REQUEST_SIZE, &sent);
  outcome.sent = sent > 0;
  long version = 0;
  curl().easy_getinfo(handles_->easy, CURLINFO_HTTP_VERSION, &version);
  outcome.protocol = name_of_protocol(version);
  curl().multi_remove_handle(handles_->multi, handles_->easy);
  return outcome;
}

Outcome Transfer::drive(const Exchange& exchange) {
  using Clock = Exchange::Clock;
  bool begun = false;
  long status = 0;
  while (true) {
    int running = 0;
    curl().multi_perform(handles_->multi, &running);
    curl().easy_getinfo(handles_->easy, CURLINFO_RESPONSE_CODE, &status);
    if (!begun && status >= 200) {
      begun = true;
      if (exchange.begun) exchange.begun(status);
    }
    if (exchange.between && !exchange.between()) return {Outcome::End::kEnded, status};
    if (running == 0) break;
    if (exchange.stop.stop_requested()) return {Outcome::End::kStopped, status};
    auto until = exchange.deadline;
    if (exchange.quiet) until = std::min(until, handles_->last_byte + *exchange.quiet);
    const auto left = std::chrono::ceil<milliseconds>(until - Clock::now());
    if (left.count() <= 0) return {Outcome::End::kDeadline, status};
    const auto wait = std::min(left, milliseconds(std::chrono::minutes(1)));
    curl().multi_poll(handles_->multi, nullptr, 0, static_cast<int>(wait.count()), nullptr);
  }
  int left = 0;
  const auto* const message = curl().multi_info_read(handles_->multi, &left);
  return conclude(message == nullptr ? CURLE_FAILED_INIT : message->data.result);
}

Outcome Transfer::conclude(int result) {
  const auto code = static_cast<CURLcode>(result);
  Outcome outcome;
  auto* const easy = handles_->easy;
  curl().easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &outcome.status);
  curl_off_t seconds = 0;
  curl().easy_getinfo(easy, CURLINFO_RETRY_AFTER, &seconds);
  if (seconds > 0) outcome.retry_after = std::chrono::seconds(seconds);
  if (code == CURLE_OK) return outcome;
  if (handles_->refused) {
    outcome.end = Outcome::End::kEnded;
    return outcome;
  }
  outcome.end = Outcome::End::kBroken;
  const std::string_view detail(handles_->trouble.data());
  outcome.trouble = detail.empty() ? curl().easy_strerror(code) : detail;
  outcome.hint = hint_of(code, outcome.trouble, endpoint_.peer);
  return outcome;
}

}  // namespace tranche::kube
