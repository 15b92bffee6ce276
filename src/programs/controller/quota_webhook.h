#pragma once
// The admission webhook for claims of shares: a new ResourceClaim that names our class is admitted
// while the namespace's quota of whole GPUs has room for it (share_book.h). Where no quota limits
// GPUs, nothing is requested and nothing stored. fraction_webhook.h has the server.
//
//     POST /quota   AdmissionReview
//
// Thread-safe.

#include <stop_token>
#include <string>

#include "admission/quota/charge.h"
#include "admission/review.h"
#include "base/result.h"
#include "controller/fleet_watch.h"
#include "controller/namespace_turns.h"
#include "controller/quota_watch.h"
#include "controller/share_book.h"
#include "controller/worker.h"
#include "http/server.h"

namespace tranche::controller {

class QuotaWebhook {
 public:
  QuotaWebhook(const WorkerContext& context, const FleetWatch& fleet, const QuotaWatch& quotas,
               ShareBook& book, admission::quota::ChargeOptions charge);

  // `body`: the AdmissionReview.
  http::Response answer(const std::string& body, const std::stop_token& stop);

 private:
  Result<void> decide(const admission::Review& review, const std::stop_token& stop);

  const WorkerContext context_;
  const FleetWatch& fleet_;
  const QuotaWatch& quotas_;
  ShareBook& book_;
  const admission::quota::ChargeOptions charge_;
  NamespaceTurns turns_;
};

}  // namespace tranche::controller
