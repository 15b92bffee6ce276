#include "controller/fraction_webhook.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "config/names.h"
#include "config/programs/controller_options.h"
#include "controller/share_services.h"
#include "controller/webhook_secret.h"

namespace tranche::controller {
namespace {

// Less than the API server waits for the webhook (fractions.timeoutSeconds), so that the user gets
// our error.
constexpr std::chrono::seconds kLongestTemplateCall{3};
// The only name in the queue.
constexpr const char* kPort = "the webhook's port";

http::Response json_response(std::string text) {
  return {.status = 200, .body = std::move(text), .content_type = "application/json"};
}

}  // namespace

FractionWebhook::FractionWebhook(const WorkerContext& context, const FleetWatch& fleet,
                                 ShareTemplates& templates, Options options)
    : context_(context),
      fleet_(fleet),
      templates_(templates),
      options_(std::move(options)),
      queue_(
          context.log, context.backoff,
          [this](const std::string&, const std::stop_token&) -> Result<WorkQueue::Next> {
            TRY(listen());
            return std::nullopt;
          },
          WorkQueue::Complaint::kWithWaits),
      secrets_(context.watches,
               {.kind = cluster::kSecret,
                .selection = {.ns = options_.secret.ns,
                              .field_selector = "metadata.name=" + options_.secret.name}},
               [this](const cluster::CacheChange& change) { take_secret(change); }) {
  queue_.ask(kPort);
  queue_.begin();
}

Result<void> FractionWebhook::listen() {
  http::Server::Options options{.address = options_.address, .port = options_.port};
  options.max_body_bytes = admission::kLongestReview;
  // Claim reviews that wait for the API server must not block the other handlers.
  if (options_.review_claim) options.handlers *= 3;
  ASSIGN_OR_RETURN(auto server, http::Server::open(std::move(options),
                                                   [this](const auto& request, const auto& stop) {
                                                     return answer(request, stop);
                                                   }));
  const std::scoped_lock lock(mutex_);
  server_ = std::move(server);
  use_certificate();
  return {};
}

void FractionWebhook::take_secret(const cluster::CacheChange& change) {
  if (change.type == cluster::ChangeType::kSynced) return;
  // The last certificate stays in use until there is another.
  if (change.type == cluster::ChangeType::kDeleted) return;
  const auto keys = keys_of(change.object);
  if (keys.certificate.empty() || keys.key.empty()) return;
  const std::scoped_lock lock(mutex_);
  certificate_ = http::Certificate{.chain = keys.certificate, .key = keys.key};
  use_certificate();
}

// Called under mutex_.
void FractionWebhook::use_certificate() {
  if (!server_ || !certificate_) return;
  const auto used = server_->set_certificate(*certificate_);
  flaw_ = used ? "" : used.error().message();
}

std::optional<std::string> FractionWebhook::trouble() const {
  {
    const std::scoped_lock lock(mutex_);
    if (!server_) return "it does not listen yet";
    if (!certificate_) return "it has no certificate yet";
    if (!flaw_.empty()) return flaw_;
  }
  if (const auto fleet = fleet_.fleet(); !fleet) return fleet.error().what;
  return templates_.synced() ? std::nullopt : templates_.trouble();
}

std::uint16_t FractionWebhook::port() const {
  const std::scoped_lock lock(mutex_);
  return server_ ? server_->port() : std::uint16_t{0};
}

http::Response FractionWebhook::answer(const http::Request& request, const std::stop_token& stop) {
  if (request.path == "/healthz") return {.body = "ok"};
  if (request.path == "/readyz") {
    const auto why = trouble();
    return {.status = why ? 503 : 200, .body = why.value_or("ok")};
  }
  const bool is_claim = options_.review_claim && request.path == "/quota";
  if (!is_claim && request.path != "/fractions") {
    return {.status = 404, .body = "reviews of Pods and workloads go to /fractions"};
  }
  if (request.method != "POST") return {.status = 405, .body = "POST an AdmissionReview"};
  return is_claim ? options_.review_claim(request.body, stop) : review(request.body, stop);
}

http::Response FractionWebhook::review(const std::string& body, const std::stop_token& stop) {
  const auto review = admission::read_review(body);
  if (!review) return {.status = 400, .body = review.error().message()};
  const auto decided = decide(*review, stop);
  if (decided) return json_response(admission::allowed(review->uid, *decided));
  context_.log.debug(
      fmt::format("refused in namespace {}: {}", review->ns, decided.error().message()));
  return json_response(admission::refused(review->uid, decided.error()));
}

Result<admission::Rewritten> FractionWebhook::decide(const admission::Review& review,
                                                     const std::stop_token& stop) {
  if (!admission::is_of_interest(review)) return admission::Rewritten{.patch = "[]"};
  ASSIGN_OR_RETURN(const auto fleet, fleet_.fleet());
  ASSIGN_OR_RETURN(auto rewritten, admission::judge(review, fleet, options_.claim));
  if (!review.is_dry_run) TRY(make_templates(review.ns, rewritten.templates, stop));
  return rewritten;
}

Result<void> FractionWebhook::make_templates(const std::string& ns,
                                             const std::vector<admission::ClaimTemplate>& wanted,
                                             const std::stop_token& stop) {
  if (wanted.empty()) return {};
  // The namespace becomes part of a path, and the caller need not be the API server.
  if (!config::is_object_name(ns)) {
    return fail(Code::kInvalidArgument, "the request names no namespace");
  }
  for (const auto& one : wanted) {
    if (!templates_.has(ns, one.name)) TRY(has_room(ns));
    TRY(templates_.ensure(ns, one, {.deadline = kLongestTemplateCall, .stop = stop}));
  }
  return {};
}

Result<void> FractionWebhook::has_room(const std::string& ns) const {
  const auto known = templates_.all();
  const auto here = static_cast<std::size_t>(
      std::ranges::count(known, ns, [](const auto& one) { return one.key.ns; }));
  if (here < options_.most_templates) return {};
  return fail(Code::kFailedPrecondition,
              fmt::format("namespace {} has {} different shares of GPUs already", ns, here),
              "use the same shares in more Pods; one that nobody uses is removed in an hour");
}

std::optional<WorkerPlan> plan_fraction_webhook(const config::ControllerOptions& options) {
  if (!options.webhook) return std::nullopt;
  FractionWebhook::Options served{.address = options.webhook->address,
                                  .port = options.webhook->port,
                                  .secret = {.ns = options.ns, .name = options.webhook->secret}};
  return WorkerPlan{
      .name = "fractions",
      .needs_leadership = false,
      .purposes = {"admitting Pods and workloads that ask for fractions of GPUs"},
      .start = [served =
                    std::move(served)](const WorkerContext& context) -> std::unique_ptr<Worker> {
        auto& shares = *context.shares;
        auto own = served;
        own.claim = shares.claim;
        if (shares.counting) {
          own.review_claim = [&webhook = shares.counting->webhook](const std::string& body,
                                                                   const std::stop_token& stop) {
            return webhook.answer(body, stop);
          };
        }
        return std::make_unique<FractionWebhook>(context, shares.fleet, shares.templates,
                                                 std::move(own));
      }};
}

}  // namespace tranche::controller
