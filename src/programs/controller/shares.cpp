#include "controller/shares.h"

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

Shares::Shares(const WorkerContext& context, const config::WebhookOptions& options)
    : fleet(context, {.expected = expected(options.models)}), templates(context) {
  if (options.counts_shares) counting.emplace(context, fleet, options);
}

Shares::Counting::Counting(const WorkerContext& context, const FleetWatch& fleet,
                           const config::WebhookOptions& options)
    : quotas(context, {}),
      book(
          context, fleet,
          {.configuration = options.configuration, .charge = {.classes = options.counted_classes}}),
      webhook(context, fleet, quotas, book, {.classes = options.counted_classes}) {}

}  // namespace tranche::controller
