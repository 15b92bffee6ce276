#include "labels/limit_labels.h"

#include <fmt/format.h>

#include "offer/memory_enforcer.h"

namespace tranche::labels {

Labels limit_labels(const offer::Offer& offer) {
  Labels labels;
  for (const auto& resource : offer.resources) {
    if (!resource.limits) continue;
    const auto prefix = fmt::format("tranche.dev/{}", resource.name.base());
    labels[prefix + ".limits"] = to_string(resource.limits->rules.enforcement);
    labels[prefix + ".limits-by"] = to_string(offer::weakest(resource.limits->enforcers));
  }
  return labels;
}

}  // namespace tranche::labels
