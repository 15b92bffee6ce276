#include "controller/quota_watch.h"

#include <utility>

#include "admission/quota/limit.h"
#include "admission/quota/own_quota.h"
#include "base/json.h"
#include "base/json_value.h"

namespace tranche::controller {
namespace {

// An unreadable quota may matter.
bool matters(const std::string& text) {
  const auto root = json::parse(text);
  if (!root) return true;
  const auto labels = root->at({"metadata", "labels"});
  if (labels && labels->find(admission::quota::kOwnQuotaLabel)) return true;
  const auto limit = admission::quota::read_limit(*root);
  return !limit || limit->has_value();
}

std::string reduced(const std::string& text) { return json::Value(matters(text)).text(); }

}  // namespace

QuotaWatch::QuotaWatch(const WorkerContext& context,
                       std::function<void(const std::string& ns)> on_change)
    : on_change_(std::move(on_change)),
      cache_(context.watches,
             {.kind = cluster::kResourceQuota,
              .reduce = {.name = "whether it matters", .make = reduced},
              .in_pages = true},
             [this](const cluster::CacheChange& change) { take(change); }) {}

void QuotaWatch::take(const cluster::CacheChange& change) {
  const auto& key = change.object.key;
  if (change.type != cluster::ChangeType::kSynced) {
    const bool is_there = change.type != cluster::ChangeType::kDeleted;
    const bool now = is_there && change.object.json == "true";
    const bool before = std::exchange(known_[key], now);
    if (!is_there) known_.erase(key);
    if (!before && !now) return;
    const std::scoped_lock lock(mutex_);
    auto& count = count_[key.ns];
    count += int{now} - int{before};
    if (count == 0) count_.erase(key.ns);
  }
  if (on_change_) on_change_(key.ns);
}

bool QuotaWatch::may_matter(const std::string& ns) const {
  if (!cache_.synced() || cache_.failure()) return true;
  const std::scoped_lock lock(mutex_);
  return count_.contains(ns);
}

std::optional<std::string> QuotaWatch::trouble() const { return trouble_of({&cache_}); }

}  // namespace tranche::controller
