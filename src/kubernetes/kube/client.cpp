#include "kube/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "base/pause.h"
#include "kube/curl_library.h"
#include "kube/identity.h"
#include "kube/request.h"
#include "kube/retry.h"
#include "kube/server_url.h"
#include "kube/status.h"
#include "kube/transfer.h"
#include "kube/watch_lines.h"

namespace tranche::kube {
namespace {

using namespace cluster;
using SteadyClock = std::chrono::steady_clock;

// The longest body of a refusal that is read.
constexpr std::size_t kMaxRefusalBytes = std::size_t{64} << 10U;
constexpr std::size_t kIdleTransfers = 2;
// A list page that is too long is requested again with a fraction 1/kFewer of the objects.
constexpr int kFewer = 8;

std::string preconditions_body(const Preconditions& preconditions) {
  std::string fields;
  const auto add = [&](std::string_view name, const std::optional<std::string>& value) {
    if (!value) return;
    fields += fmt::format(R"({}"{}":"{}")", fields.empty() ? "" : ",", name, *value);
  };
  add("uid", preconditions.uid);
  add("resourceVersion", preconditions.resource_version);
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"DeleteOptions","propagationPolicy":"Background","preconditions":{{{}}}}})",
      fields);
}

// These texts go into a JSON body unescaped. The API server issues no names, uids or versions with
// quotes or control characters.
bool is_plain(const std::optional<std::string>& text) {
  return !text || std::ranges::all_of(
                      *text, [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
}

std::string_view content_type(PatchType type) {
  switch (type) {
    case PatchType::kMerge:
      return "application/merge-patch+json";
    case PatchType::kJson:
      return "application/json-patch+json";
    case PatchType::kStrategic:
      return "application/strategic-merge-patch+json";
  }
  return "";
}

}  // namespace

class Client::Impl {
 public:
  Impl(Credentials credentials, ServerUrl server, std::unique_ptr<IdentityReloader> reloader,
       Options options)
      : options_(std::move(options)),
        who_(std::move(credentials.from)),
        reloader_(std::move(reloader)),
        endpoint_{std::move(server), std::move(credentials.tls_server_name), credentials.insecure,
                  options_.user_agent, options_.connect_timeout} {}

  const Options& options() const { return options_; }
  const std::string& field_manager(const Call& call) const {
    return call.field_manager.empty() ? options_.field_manager : call.field_manager;
  }

  // The body of a response with status 2xx.
  Result<std::string> answer(const Request& request, const Call& call, std::size_t limit);
  Result<Object> object(const Request& request, const Call& call);
  Result<WatchEnd> watch(const Request& request, const std::string& version,
                         const WatchHandler& handler, const std::stop_token& stop);

 private:
  struct Answer {
    Outcome outcome;
    std::string body;
    bool too_long = false;
  };

  Answer attempt(const Request& request, const std::string& target, const Call& call,
                 SteadyClock::time_point end, std::size_t limit);
  Error failure(const Request& request, const Outcome& outcome) const;
  std::unique_ptr<Transfer> borrow();
  void give_back(std::unique_ptr<Transfer> transfer);
  void tell_protocol(std::string_view protocol);

  const Options options_;
  const std::string who_;
  const std::unique_ptr<IdentityReloader> reloader_;
  const Endpoint endpoint_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Transfer>> idle_;  // guarded by mutex_
  std::string_view protocol_;                    // last one logged; guarded by mutex_
};

// An idle connection with the current identity, or a new one. Drops idle connections of older
// identities.
std::unique_ptr<Transfer> Client::Impl::borrow() {
  auto identity = reloader_->current();
  {
    const std::scoped_lock lock(mutex_);
    std::erase_if(idle_, [&](const auto& idle) { return idle->identity() != identity; });
    if (!idle_.empty()) {
      auto transfer = std::move(idle_.back());
      idle_.pop_back();
      return transfer;
    }
  }
  return std::make_unique<Transfer>(endpoint_, std::move(identity));
}

void Client::Impl::give_back(std::unique_ptr<Transfer> transfer) {
  const std::scoped_lock lock(mutex_);
  if (idle_.size() < kIdleTransfers) idle_.push_back(std::move(transfer));
}

// Logs the protocol once, and again when it changes (a proxy may change it).
void Client::Impl::tell_protocol(std::string_view protocol) {
  if (options_.log == nullptr || protocol.empty()) return;
  {
    const std::scoped_lock lock(mutex_);
    if (std::exchange(protocol_, protocol) == protocol) return;
  }
  options_.log->debug(
      fmt::format("API server {} answers over {}", endpoint_.server.to_string(), protocol));
}

Client::Impl::Answer Client::Impl::attempt(const Request& request, const std::string& target,
                                           const Call& call, SteadyClock::time_point end,
                                           std::size_t limit) {
  Answer answer;
  Exchange exchange{request.method, target, request.body, request.content_type, end};
  exchange.stop = call.stop;
  exchange.take = [&](long status, std::string_view piece) {
    const auto allowed = status < 300 ? limit : kMaxRefusalBytes;
    answer.too_long = answer.body.size() + piece.size() > allowed;
    if (!answer.too_long) answer.body.append(piece);
    return !answer.too_long;
  };
  auto transfer = borrow();
  answer.outcome = transfer->run(exchange);
  tell_protocol(answer.outcome.protocol);
  // Only a connection that delivered a complete response is reused.
  if (answer.outcome.end == Outcome::End::kDone) give_back(std::move(transfer));
  return answer;
}

// Why there is no complete response.
Error Client::Impl::failure(const Request& request, const Outcome& outcome) const {
  const auto context =
      fmt::format("{}: API server {}", request.describe(), endpoint_.server.to_string());
  switch (outcome.end) {
    case Outcome::End::kStopped:
      return {Code::kUnavailable, fmt::format("{}: stopped", request.describe())};
    case Outcome::End::kDeadline:
      return {
          Code::kTimeout, context + ": no answer in time",
          request.reads() || !outcome.sent ? "" : "it may have happened all the same: read again"};
    default:
      return {Code::kUnavailable, fmt::format("{}: {}", context, outcome.trouble), outcome.hint};
  }
}

Result<std::string> Client::Impl::answer(const Request& request, const Call& call,
                                         std::size_t limit) {
  ASSIGN_OR_RETURN(const auto target, request.target());
  const auto end = SteadyClock::now() + call.deadline;
  bool renewed = false;
  for (int number = 1;; ++number) {
    const auto identity = reloader_->current();
    auto answer = attempt(request, target, call, end, limit);
    const auto& outcome = answer.outcome;
    const bool done = outcome.end == Outcome::End::kDone;
    if (answer.too_long) {
      return fail(Code::kUnsupported,
                  fmt::format("{}: the answer is longer than {} bytes", request.describe(),
                              outcome.status < 300 ? limit : kMaxRefusalBytes),
                  "is this the address of an API server?");
    }
    if (done && outcome.status >= 200 && outcome.status < 300) return std::move(answer.body);
    // 401: the token may have been replaced after it was read here, so try once with the new one.
    if (done && outcome.status == 401 && !std::exchange(renewed, true) &&
        reloader_->current() != identity) {
      continue;
    }
    auto error =
        done ? refusal(request, outcome.status, answer.body, who_) : failure(request, outcome);
    if (outcome.end == Outcome::End::kStopped || outcome.end == Outcome::End::kDeadline) {
      return std::unexpected(std::move(error));
    }
    const auto wait = wait_before_next(
        {number, request.reads(), outcome.sent, done ? outcome.status : 0, outcome.retry_after});
    if (!wait || request.once || SteadyClock::now() + *wait >= end || !pause(*wait, call.stop)) {
      if (number > 1) error.what += fmt::format(" ({} attempts)", number);
      return std::unexpected(std::move(error));
    }
  }
}

Result<Object> Client::Impl::object(const Request& request, const Call& call) {
  ASSIGN_OR_RETURN(const auto body, answer(request, call, options_.max_object_bytes));
  auto parsed = parse_object(body);
  if (parsed) return parsed;
  return fail(Code::kUnavailable, fmt::format("{}: {}", request.describe(), parsed.error().what),
              "is this the address of an API server?");
}

Result<WatchEnd> Client::Impl::watch(const Request& request, const std::string& version,
                                     const WatchHandler& handler, const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const auto target, request.target());
  LineSplitter splitter(options_.max_object_bytes);
  std::vector<std::string> lines;
  std::string refused;
  Result<WatchEnd> end = WatchEnd::kClosed;

  const auto quiet = std::chrono::milliseconds(options_.watch_time) * 3 / 2;
  Exchange exchange{request.method, target, "", "", SteadyClock::time_point::max()};
  exchange.quiet = quiet;
  exchange.stop = stop;
  exchange.begun = [&](long status) {
    if (status != 200) return;
    WatchEvent opening{WatchEventType::kBookmark, {}};
    opening.object.resource_version = version;
    handler(std::move(opening));
  };
  exchange.take = [&](long status, std::string_view piece) {
    if (status != 200) {
      refused.append(piece.substr(0, kMaxRefusalBytes - refused.size()));
      return true;
    }
    if (splitter.feed(piece, lines)) return true;
    end = fail(Code::kUnsupported, fmt::format("{}: an event is longer than {} bytes",
                                               request.describe(), options_.max_object_bytes));
    return false;
  };
  // Outside of curl, so that the handler may call this client.
  exchange.between = [&] {
    for (const auto& line : std::exchange(lines, {})) {
      if (stop.stop_requested()) return true;
      auto parsed = parse_watch_line(request, line, who_);
      if (parsed && !parsed->expired) {
        handler(std::move(parsed->event));
        continue;
      }
      end = parsed ? Result<WatchEnd>(WatchEnd::kExpired)
                   : Result<WatchEnd>(std::unexpected(std::move(parsed).error()));
      return false;
    }
    return true;
  };
  // A watch has its own connection.
  const auto outcome = Transfer(endpoint_, reloader_->current()).run(exchange);
  tell_protocol(outcome.protocol);
  if (stop.stop_requested()) return WatchEnd::kStopped;
  switch (outcome.end) {
    case Outcome::End::kStopped:
      return WatchEnd::kStopped;
    case Outcome::End::kEnded:
      return end;
    case Outcome::End::kDone:
      if (outcome.status == 410) return WatchEnd::kExpired;
      if (outcome.status != 200) {
        return std::unexpected(refusal(request, outcome.status, refused, who_));
      }
      return WatchEnd::kClosed;
    default:
      // The stream had begun: the caller continues from here, as after a close by the server.
      if (outcome.status == 200) return WatchEnd::kClosed;
      return std::unexpected(failure(request, outcome));
  }
}

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Client::~Client() = default;

Result<std::unique_ptr<Client>> Client::open(Credentials credentials, Options options) {
  if (auto library = load_curl(); !library) return std::unexpected(std::move(library).error());
  ASSIGN_OR_RETURN(auto server, parse_server_url(credentials.server));
  if (!server.tls && (!credentials.token.empty() || !credentials.certificate.empty())) {
    return fail(Code::kInvalidArgument,
                fmt::format("{}: credentials are not sent to {} without TLS", credentials.from,
                            credentials.server),
                "write https://");
  }
  ASSIGN_OR_RETURN(auto reloader, IdentityReloader::open(credentials));
  return std::unique_ptr<Client>(new Client(std::make_unique<Impl>(
      std::move(credentials), std::move(server), std::move(reloader), std::move(options))));
}

Result<Object> Client::get(const Kind& kind, const ObjectKey& key, const Call& call) {
  return impl_->object({"get", kind, key}, call);
}

namespace {

// The size of the next page after one of `size` objects with `bytes` bytes, so that it takes about
// half of the limit.
int size_after(int size, std::size_t bytes, const Client::Options& options) {
  const auto fitting =
      options.max_list_bytes / 2 * static_cast<std::size_t>(size) / std::max<std::size_t>(bytes, 1);
  const auto most = static_cast<std::size_t>(options.page);
  return static_cast<int>(std::clamp<std::size_t>(fitting, 1, most));
}

}  // namespace

Result<ObjectList> Client::list(const Kind& kind, const ListOptions& options, const Call& call) {
  ObjectList all;
  const auto take = [&](std::vector<Object> page, bool first) -> Result<void> {
    if (first) all.items.clear();
    std::ranges::move(page, std::back_inserter(all.items));
    return {};
  };
  ASSIGN_OR_RETURN(all.resource_version, list_pages(kind, options, take, call));
  return all;
}

Result<std::string> Client::list_pages(const Kind& kind, const ListOptions& options,
                                       const cluster::PageHandler& take, const Call& call) {
  const auto end = SteadyClock::now() + call.deadline;
  std::string next;
  int restarts = 0;
  int size = impl_->options().page;
  while (true) {
    Request request{"list", kind, {options.ns, ""}};
    // With a limit, a resourceVersion means exactly that version, and "0" goes to etcd.
    const bool cached = !options.not_before.empty();
    const bool any = options.not_before == "0";
    request.query = query_of({{"limit", cached ? "" : std::to_string(size)},
                              {"continue", next},
                              {"resourceVersion", options.not_before},
                              {"resourceVersionMatch", cached && !any ? "NotOlderThan" : ""},
                              {"labelSelector", options.label_selector},
                              {"fieldSelector", options.field_selector}});
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - SteadyClock::now());
    const auto body =
        impl_->answer(request, {std::max(left, std::chrono::milliseconds(0)), call.stop},
                      impl_->options().max_list_bytes);
    // The list's version expired between two pages: list from the start again, a few times.
    const bool expired = !body && body.error().code == Code::kFailedPrecondition;
    if (expired && !next.empty() && ++restarts <= 3) {
      next.clear();
      continue;
    }
    // Too long: anyone who may create objects can create large ones. Request fewer.
    if (!body && body.error().code == Code::kUnsupported && !cached && size > 1) {
      size = std::max(1, size / kFewer);
      continue;
    }
    if (!body) return std::unexpected(body.error());
    auto page = parse_list(kind, *body);
    if (!page) {
      return fail(Code::kUnavailable, fmt::format("{}: {}", request.describe(), page.error().what),
                  "is this the address of an API server?");
    }
    TRY(take(std::move(page->list.items), next.empty()));
    next = std::move(page->next);
    size = size_after(size, body->size(), impl_->options());
    if (next.empty()) return std::move(page->list.resource_version);
  }
}

Result<WatchEnd> Client::watch(const Kind& kind, const WatchOptions& options,
                               const WatchHandler& handler, std::stop_token stop) {
  const auto& selection = options.selection;
  Request request{"watch", kind, {selection.ns, ""}};
  request.query = query_of({{"watch", "true"},
                            {"allowWatchBookmarks", "true"},
                            {"resourceVersion", options.resource_version},
                            {"timeoutSeconds", std::to_string(impl_->options().watch_time.count())},
                            {"labelSelector", selection.label_selector},
                            {"fieldSelector", selection.field_selector}});
  return impl_->watch(request, options.resource_version, handler, stop);
}

Result<Object> Client::create(const Kind& kind, const std::string& ns, std::string_view json,
                              const Call& call) {
  Request request{"create", kind, {ns, ""}};
  request.method = "POST";
  request.query = query_of({{"fieldManager", impl_->field_manager(call)}});
  request.body = json;
  return impl_->object(request, call);
}

Result<Object> Client::update(const Kind& kind, const ObjectKey& key, std::string_view json,
                              const std::string& subresource, const Call& call) {
  Request request{"update", kind, key, subresource};
  request.method = "PUT";
  request.query = query_of({{"fieldManager", impl_->field_manager(call)}});
  request.body = json;
  return impl_->object(request, call);
}

Result<Object> Client::patch(const Kind& kind, const ObjectKey& key, const Patch& patch,
                             const Call& call) {
  Request request{"patch", kind, key, patch.subresource};
  request.method = "PATCH";
  request.query = query_of({{"fieldManager", patch.field_manager}});
  request.body = patch.json;
  request.content_type = content_type(patch.type);
  return impl_->object(request, call);
}

Result<Object> Client::apply(const Kind& kind, const ObjectKey& key, const Apply& apply,
                             const Call& call) {
  Request request{"patch", kind, key, apply.subresource};
  request.method = "PATCH";
  request.query =
      query_of({{"fieldManager", apply.field_manager}, {"force", apply.force ? "true" : "false"}});
  request.body = apply.json;
  request.content_type = "application/apply-patch+yaml";
  return impl_->object(request, call);
}

Result<void> Client::remove(const Kind& kind, const ObjectKey& key,
                            const Preconditions& preconditions, const Call& call) {
  Request request{"delete", kind, key};
  if (!is_plain(preconditions.uid) || !is_plain(preconditions.resource_version)) {
    return fail(Code::kInvalidArgument, request.describe() + ": no such uid or resourceVersion");
  }
  request.method = "DELETE";
  request.body = preconditions_body(preconditions);
  TRY(impl_->answer(request, call, impl_->options().max_object_bytes));
  return {};
}

Result<std::string> Client::review(const Kind& kind, std::string_view json, const Call& call) {
  Request request{"create", kind};
  request.method = "POST";
  request.body = json;
  return impl_->answer(request, call, impl_->options().max_object_bytes);
}

Result<void> Client::evict(const ObjectKey& pod, const std::string& uid, const Call& call) {
  Request request{"create", kPod, pod, "eviction"};
  if (!is_plain(uid) || !is_plain(pod.name) || !is_plain(pod.ns)) {
    return fail(Code::kInvalidArgument, request.describe() + ": no such Pod");
  }
  request.method = "POST";
  request.once = true;
  request.body = fmt::format(
      R"({{"apiVersion":"policy/v1","kind":"Eviction","metadata":{{"name":"{}","namespace":"{}"}},"deleteOptions":{{"preconditions":{{"uid":"{}"}}}}}})",
      pod.name, pod.ns, uid);
  TRY(impl_->answer(request, call, impl_->options().max_object_bytes));
  return {};
}

}  // namespace tranche::kube
