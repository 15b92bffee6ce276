#include "controller/share_services.h"

#include <vector>

namespace tranche::controller {
namespace {

std::vector<admission::DraModel> expected(const std::vector<config::ExpectedModel>& models) {
  std::vector<admission::DraModel> all;
  for (const auto& [product, memory] : models) {
    all.push_back({.product = product, .memory = memory});
  }
  return all;
}

}  // namespace

ShareServices::ShareServices(const WorkerContext& context, const config::WebhookOptions& options)
    : claim{.driver = options.dra_driver_name},
      fleet(context, {.driver = claim.driver, .expected = expected(options.models)}),
      templates(context) {
  if (options.counts_shares) counting.emplace(context, fleet, claim, options);
}

ShareServices::Counting::Counting(const WorkerContext& context, const FleetWatch& fleet,
                                  const admission::ClaimOptions& claim,
                                  const config::WebhookOptions& options)
    : quotas(context, {}),
      book(context, fleet,
           {.configuration = options.configuration,
            .charge = {.claim = claim, .classes = options.counted_classes}}),
      webhook(context, fleet, quotas, book, {.claim = claim, .classes = options.counted_classes}) {}

}  // namespace tranche::controller
