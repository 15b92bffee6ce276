#include "controller/claim_renewer.h"

#include <fmt/format.h>

#include <utility>

#include "admission/outdated.h"
#include "base/json.h"

namespace tranche::controller {
namespace {

std::unexpected<Error> with_claim(Error error, const cluster::ObjectKey& key) {
  return std::unexpected(std::move(error).with_context("ResourceClaim " + key.to_string()));
}

}  // namespace

// A failure for one claim does not stop the others.
Result<void> ClaimRenewer::renew(const Waiting& waiting, const cluster::Call& call) {
  const auto is_over = [&](const auto& one) { return !waiting.contains(one.first); };
  std::erase_if(good_, is_over);
  std::erase_if(missing_, is_over);
  auto result = drop_unused(waiting, call);
  for (const auto& [key, wish] : waiting) {
    const auto known = good_.find(key);
    if (!wish.wanted || (known != good_.end() && known->second == wish.wanted->json)) continue;
    const auto is_good = look(key, *wish.wanted, wish.pod, call);
    if (is_good && *is_good) {
      good_.insert_or_assign(key, wish.wanted->json);
    } else if (!is_good && result) {
      result = std::unexpected(is_good.error());
    }
  }
  return result;
}

std::optional<std::chrono::milliseconds> ClaimRenewer::next() const {
  return missing_.empty() ? std::nullopt : std::optional<std::chrono::milliseconds>(kMissing);
}

Result<bool> ClaimRenewer::look(const cluster::ObjectKey& key,
                                const admission::ClaimTemplate& wanted, const ClaimedFor& pod,
                                const cluster::Call& call) {
  auto claim = objects_.get(cluster::kResourceClaim, key, call);
  if (!claim && claim.error().code == Code::kNotFound) {
    const auto since = missing_.try_emplace(key, clock_.now()).first->second;
    if (clock_.now() - since < kMissing) return false;
    return make(key, wanted, pod, call);
  }
  if (!claim) return with_claim(std::move(claim).error(), key);
  missing_.erase(key);
  const auto root = json::parse(claim->json);
  if (!root) return with_claim(root.error(), key);
  if (is_made_of(*claim, wanted) || !admission::lacks_what_is_wanted(*root, wanted)) {
    return true;
  }
  if (!admission::is_untouched(*root)) return false;
  auto gone =
      objects_.remove(cluster::kResourceClaim, key,
                      {.uid = claim->uid, .resource_version = claim->resource_version}, call);
  // It was written since: the scheduler allocated it.
  const bool is_raced = !gone && (gone.error().code == Code::kNotFound ||
                                  gone.error().code == Code::kFailedPrecondition);
  if (is_raced) return false;
  if (!gone) return with_claim(std::move(gone).error(), key);
  missing_[key] = clock_.now() - kMissing;
  return make(key, wanted, pod, call);
}

// A claim that a quota refuses stays missing, and is tried again.
Result<bool> ClaimRenewer::make(const cluster::ObjectKey& key,
                                const admission::ClaimTemplate& wanted, const ClaimedFor& pod,
                                const cluster::Call& call) {
  ASSIGN_OR_RETURN(const auto text, claim_text(wanted, pod));
  const auto made = objects_.create(cluster::kResourceClaim, key.ns, text, call);
  if (!made && made.error().code == Code::kAlreadyExists) return false;
  if (!made) return with_claim(made.error(), key);
  missing_.erase(key);
  made_.insert(key);
  log_.info(
      fmt::format("ResourceClaim {}: made anew for Pod {}, which waits, from the template of "
                  "now",
                  key.to_string(), pod.pod));
  return true;
}

Result<void> ClaimRenewer::drop_unused(const Waiting& waiting, const cluster::Call& call) {
  Result<void> result;
  for (auto key = made_.begin(); key != made_.end();) {
    if (waiting.contains(*key)) {
      ++key;
      continue;
    }
    const auto claim = objects_.get(cluster::kResourceClaim, *key, call);
    const auto root = claim ? json::parse(claim->json) : std::unexpected(claim.error());
    if (root && admission::is_untouched(*root)) {
      const auto gone =
          objects_.remove(cluster::kResourceClaim, *key,
                          {.uid = claim->uid, .resource_version = claim->resource_version}, call);
      if (!gone && result) result = with_claim(gone.error(), *key);
    }
    key = made_.erase(key);
  }
  return result;
}

}  // namespace tranche::controller
