#include "controller/claim_renewer.h"

#include <fmt/format.h>

#include <utility>

#include "admission/outdated.h"
#include "base/json.h"
#include "controller/share_templates.h"

namespace tranche::controller {

// One claim that cannot be read or deleted keeps no other from its GPU.
Result<void> ClaimRenewer::renew(const Waiting& waiting, const cluster::Call& call) {
  std::erase_if(good_, [&](const auto& one) { return !waiting.contains(one.first); });
  Result<void> result;
  for (const auto& [key, wanted] : waiting) {
    const auto known = good_.find(key);
    if (known != good_.end() && known->second == wanted.json) continue;
    const auto is_good = look(key, wanted, call);
    if (is_good && *is_good) {
      good_.insert_or_assign(key, wanted.json);
    } else if (!is_good && result) {
      result = std::unexpected(is_good.error());
    }
  }
  return result;
}

Result<bool> ClaimRenewer::look(const cluster::ObjectKey& key,
                                const admission::ClaimTemplate& wanted, const cluster::Call& call) {
  const auto with_claim = [&](Error error) {
    return std::unexpected(std::move(error).with_context("ResourceClaim " + key.to_string()));
  };
  auto claim = objects_.get(cluster::kResourceClaim, key, call);
  // Kubernetes makes another, and its Pod names that.
  if (!claim && claim.error().code == Code::kNotFound) return false;
  if (!claim) return with_claim(std::move(claim).error());
  const auto root = json::parse(claim->json);
  if (!root) return with_claim(root.error());
  if (is_made_of(*claim, wanted) || !admission::lacks_what_is_wanted(*root, wanted)) return true;
  if (!admission::is_untouched(*root)) return false;
  auto gone =
      objects_.remove(cluster::kResourceClaim, key,
                      {.uid = claim->uid, .resource_version = claim->resource_version}, call);
  if (gone) {
    log_.info(fmt::format("ResourceClaim {}: made anew, as it waits and the cluster's GPUs changed",
                          key.to_string()));
    return false;
  }
  // Somebody wrote it meanwhile: the scheduler, which has a GPU for it.
  const bool is_raced =
      gone.error().code == Code::kNotFound || gone.error().code == Code::kFailedPrecondition;
  if (is_raced) return false;
  return with_claim(std::move(gone).error());
}

}  // namespace tranche::controller
