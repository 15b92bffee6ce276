#include "controller/quota_webhook.h"

#include <fmt/format.h>

#include <utility>

#include "base/json_fields.h"
#include "config/names.h"

namespace tranche::controller {
namespace {

// Less than the API server waits for the webhook (fractions.timeoutSeconds), so that the user gets
// our error.
constexpr std::chrono::seconds kLongestReservation{3};

bool makes_a_claim(const admission::Review& review) {
  return review.operation == "CREATE" && review.subresource.empty() &&
         review.object.kind() == json::Kind::kObject;
}

}  // namespace

QuotaWebhook::QuotaWebhook(const WorkerContext& context, const FleetWatch& fleet,
                           const QuotaWatch& quotas, ShareBook& book,
                           admission::quota::ChargeOptions charge)
    : context_(context),
      fleet_(fleet),
      quotas_(quotas),
      book_(book),
      charge_(std::move(charge)),
      turns_(NamespaceTurns::Options()) {}

http::Response QuotaWebhook::answer(const std::string& body, const std::stop_token& stop) {
  const auto review = admission::read_review(body);
  if (!review) return {.status = 400, .body = review.error().message()};
  const auto decided = decide(*review, stop);
  if (!decided) {
    context_.log.debug(
        fmt::format("refused in namespace {}: {}", review->ns, decided.error().message()));
  }
  return {.status = 200,
          .body = decided ? admission::allowed(review->uid, {.patch = "[]"})
                          : admission::refused(review->uid, decided.error()),
          .content_type = "application/json"};
}

Result<void> QuotaWebhook::decide(const admission::Review& review, const std::stop_token& stop) {
  if (!makes_a_claim(review)) return {};
  // The namespace becomes part of a path, and the caller need not be the API server.
  if (!config::is_object_name(review.ns)) {
    return fail(Code::kInvalidArgument, "the request names no namespace");
  }
  if (!quotas_.may_matter(review.ns)) return {};
  ASSIGN_OR_RETURN(const auto fleet, fleet_.fleet());
  ASSIGN_OR_RETURN(const auto billionths,
                   admission::quota::charge_of(review.object, fleet.dra_models, charge_));
  if (billionths == 0) return {};
  ASSIGN_OR_RETURN(const auto asked,
                   json::read_fields(review.object, [&](const json::Fields& fields) {
                     const auto metadata = fields.object("metadata");
                     return admission::quota::Reservation{.ns = review.ns,
                                                          .claim = metadata.text("name"),
                                                          .uid = metadata.text("uid"),
                                                          .billionths = billionths};
                   }));
  const auto turn = turns_.take(review.ns, stop);
  if (!turn) {
    return fail(
        Code::kUnavailable,
        fmt::format("many ask for shares of GPUs in namespace {} at the same time", review.ns),
        "try again in a moment");
  }
  return book_.reserve(asked, review.is_dry_run, {.deadline = kLongestReservation, .stop = stop});
}

}  // namespace tranche::controller
