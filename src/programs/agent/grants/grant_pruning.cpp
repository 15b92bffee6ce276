// The part of GrantStore that finds which grants are over.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "agent/grants/grant_store.h"

namespace tranche::agent {
namespace {

bool has_any(const HeldIds& ids, const offer::Grant& grant) {
  return std::ranges::any_of(
      grant.ids, [&](const auto& id) { return ids.contains({grant.resource.value, id}); });
}

std::string describe_grant(const std::shared_ptr<const offer::GrantRecord>& record) {
  const auto& grant = record->grant;
  auto text = fmt::format("{} of {}", fmt::join(grant.ids, "+"), grant.resource.value);
  if (!grant.tenant.empty()) text += fmt::format(" (tenant {})", grant.tenant);
  return text;
}

}  // namespace

bool GrantStore::prune(const Holders& holders) {
  const std::scoped_lock turn(compacting_);
  if (shared_) return false;
  Look look{
      .listed = ids_of(holders.listed), .remembered = {}, .only_remembered = false, .why = {}};
  if (holders.remembered) look.remembered = ids_of(*holders.remembered);
  auto gone = over(holders, look);
  keep_living(holders, gone, look);
  drop(gone, holders.agree);
  forget_rejected(holders, look);
  keeps_for(std::move(look.why));
  {
    const std::scoped_lock lock(mutex_);
    if (!stale_) return look.only_remembered;
  }
  compact(FsRoot::Sync::kNow);
  return look.only_remembered;
}

void GrantStore::unanswered() {
  const std::scoped_lock turn(compacting_);
  known_since_.reset();
  const std::scoped_lock lock(mutex_);
  for (auto& entry : records_) entry.missed.reset();
}

// Records unknown to everybody who was asked.
GrantStore::Records GrantStore::over(const Holders& holders, Look& look) {
  const auto settled_before = unix_time_ms() - std::chrono::milliseconds(kSettle).count();
  const auto now = clock_.now();
  Records gone;
  const std::scoped_lock lock(mutex_);
  for (auto& entry : records_) {
    const auto& [grant, granted_at_ms] = *entry.record;
    if (has_any(look.listed, grant)) {
      entry.missed.reset();
      continue;
    }
    if (!entry.written || granted_at_ms >= settled_before) continue;
    if (!entry.missed) entry.missed = now;
    if (has_any(look.remembered, grant)) {
      look.only_remembered = true;
    } else if (!holders.remembered) {
      look.why = holders.remembered.error().message();
    } else if (now - *entry.missed >= holders.agree) {
      gone.push_back(entry.record);
    }
  }
  return gone;
}

void GrantStore::keep_living(const Holders& holders, Records& gone, Look& look) {
  const auto has_tenant = [](const auto& record) { return !record->grant.tenant.empty(); };
  if (!holders.living || std::ranges::none_of(gone, has_tenant)) return;
  const auto living = holders.living();
  std::erase_if(gone, [&](const auto& record) {
    return has_tenant(record) && (!living || living->contains(record->grant.tenant));
  });
  if (!living) look.why = living.error().message();
}

// Logs once why grants are kept that seem over.
void GrantStore::keeps_for(std::string why) {
  const auto before = std::exchange(kept_for_, std::move(why));
  if (kept_for_.empty() || kept_for_ == before) return;
  log_.warn(fmt::format("grants that kubelet lists no more are kept: {}", kept_for_));
}

void GrantStore::drop(const Records& gone, std::chrono::milliseconds unlisted) {
  if (gone.empty()) return;
  {
    const std::scoped_lock lock(mutex_);
    for (auto next = records_.begin(); next != records_.end();) {
      const auto entry = next++;
      if (std::ranges::find(gone, entry->record) != gone.end()) drop(entry);
    }
    stale_ = true;
  }
  std::vector<std::string> names;
  for (const auto& record : gone) names.push_back(describe_grant(record));
  log_.info(fmt::format(
      "dropped {} grant{} that nobody holds: {}; kubelet has not listed {} for {:g} s and its "
      "checkpoint does not name {}",
      gone.size(), gone.size() == 1 ? "" : "s", fmt::join(names, ", "),
      gone.size() == 1 ? "it" : "them", std::chrono::duration<double>(unlisted).count(),
      gone.size() == 1 ? "it" : "them"));
}

// An unreadable line was a gone container's grant if every held id belongs to a known grant.
void GrantStore::forget_rejected(const Holders& holders, Look& look) {
  if (!incomplete_) return;
  const auto now = clock_.now();
  const bool listed = knows_all(look.listed);
  const bool remembered = knows_all(look.remembered);
  if (listed && !remembered) look.only_remembered = true;
  if (!holders.remembered || !listed || !remembered) {
    known_since_.reset();
    return;
  }
  if (!known_since_) known_since_ = now;
  if (now - *known_since_ < holders.agree || now - opened_ < kSettle) return;
  if (const auto removed = rejected_.remove(); !removed) {
    look.why = removed.error().message();
    return;
  }
  incomplete_ = false;
  log_.info(
      fmt::format("removed {}: every device that is held is a known grant's, so nobody holds "
                  "what could not be read",
                  rejected_.file().string()));
}

bool GrantStore::knows_all(const HeldIds& ids) const {
  const std::scoped_lock lock(mutex_);
  return std::ranges::all_of(ids, [&](const auto& held) {
    const auto& [resource, id] = held;
    return !resource.starts_with(config::kResourcePrefix) || holders_.contains(resource + " " + id);
  });
}

}  // namespace tranche::agent
