#include "labels/limit_labels.h"

#include <fmt/format.h>

#include <algorithm>

namespace tranche::labels {
namespace {

bool is_by_mig(const offer::ResourceOffer& resource) {
  return resource.replicas <= 1 && std::ranges::all_of(resource.devices, &offer::Device::mig);
}

}  // namespace

Labels limit_labels(const offer::Offer& offer) {
  Labels labels;
  for (const auto& resource : offer.resources) {
    if (!resource.limits) continue;
    const auto prefix = fmt::format("tranche.dev/{}", resource.name.base());
    labels[prefix + ".limits"] = config::to_string(resource.limits->rules.enforcement);
    labels[prefix + ".limits-by"] = is_by_mig(resource) ? "mig" : "limiter";
  }
  return labels;
}

}  // namespace tranche::labels
