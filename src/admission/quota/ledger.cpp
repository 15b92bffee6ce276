#include "admission/quota/ledger.h"

#include <algorithm>
#include <limits>

#include "base/json_fields.h"
#include "base/json_value.h"

namespace tranche::admission::quota {
namespace {

using json::Fields;

constexpr std::string_view kVersion = "gpu-shares/v1";
constexpr std::int64_t kMostPermille = std::int64_t{1} << 40U;

Entry read_reservation(const Fields& fields) {
  Entry entry{.permille = fields.need_number("permille", 0, kMostPermille)};
  const auto time = cluster::parse_time(fields.need<std::string>("at"));
  if (time) {
    entry.reserved_at = *time;
  } else {
    fields.refuse("at", "is no time");
  }
  return entry;
}

}  // namespace

std::int64_t Ledger::permille() const {
  std::int64_t sum = uncounted;
  for (const auto& [uid, entry] : claims) {
    if (__builtin_add_overflow(sum, entry.permille, &sum)) {
      return std::numeric_limits<std::int64_t>::max();
    }
  }
  return sum;
}

Result<Ledger> parse_ledger(std::string_view text) {
  ASSIGN_OR_RETURN(const auto root, json::parse(text));
  return json::read_fields(root, [](const Fields& top) {
    Ledger ledger;
    if (top.need<std::string>("version") != kVersion) top.refuse("version", "is another");
    const auto claims = top.need_object("claims");
    for (const auto& [uid, value, begin, end] : claims.view().members()) {
      ledger.claims[uid] = {.permille = claims.need_number(uid, 0, kMostPermille), .is_seen = true};
    }
    if (top.has("uncounted")) ledger.uncounted = top.need_number("uncounted", 0, kMostPermille);
    const auto reserved = top.need_object("reserved");
    for (const auto& [uid, value, begin, end] : reserved.view().members()) {
      ledger.claims[uid] = read_reservation(reserved.need_object(uid));
    }
    return ledger;
  });
}

std::string to_text(const Ledger& ledger) {
  auto claims = json::Value::object();
  auto reserved = json::Value::object();
  const bool fits = ledger.claims.size() <= Ledger::kMost;
  std::int64_t uncounted = ledger.uncounted;
  for (const auto& [uid, entry] : ledger.claims) {
    if (entry.is_seen && !fits) {
      uncounted = std::min(uncounted + entry.permille, kMostPermille);
    } else if (entry.is_seen) {
      claims[uid] = entry.permille;
    } else {
      reserved[uid] = {{"at", cluster::micro_time(entry.reserved_at)},
                       {"permille", entry.permille}};
    }
  }
  auto root = json::Value::object();
  root["claims"] = std::move(claims);
  root["reserved"] = std::move(reserved);
  if (uncounted > 0) root["uncounted"] = uncounted;
  root["version"] = kVersion;
  return root.text();
}

Ledger reconcile(Ledger ledger, const std::map<std::string, std::int64_t>& live,
                 cluster::WallTime now) {
  ledger.uncounted = 0;
  std::erase_if(ledger.claims, [&](const auto& item) {
    const auto& [uid, entry] = item;
    // A clock that was set back keeps no reservation for ever.
    const bool may_come = !entry.is_seen && now - entry.reserved_at < Ledger::kComes &&
                          entry.reserved_at - now < Ledger::kComes;
    return !live.contains(uid) && !may_come;
  });
  for (const auto& [uid, permille] : live) {
    const auto [at, is_new] = ledger.claims.try_emplace(uid, Entry{.permille = permille});
    at->second = {.permille = std::min(at->second.permille, permille), .is_seen = true};
  }
  return ledger;
}

}  // namespace tranche::admission::quota
