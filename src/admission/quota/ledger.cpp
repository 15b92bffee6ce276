#include "admission/quota/ledger.h"

#include <limits>

#include "base/json_fields.h"
#include "base/json_value.h"

namespace tranche::admission::quota {
namespace {

using json::Fields;

constexpr std::string_view kVersion = "gpu-shares/v1";
constexpr std::int64_t kMostPermille = std::int64_t{1} << 40U;

Entry read_entry(const Fields& fields) {
  Entry entry{.permille = fields.need_number("permille", 0, kMostPermille),
              .reserved_at = {},
              .is_seen = fields.need<bool>("seen")};
  const auto time = cluster::parse_time(fields.need<std::string>("reservedAt"));
  if (time) {
    entry.reserved_at = *time;
  } else {
    fields.refuse("reservedAt", "is no time");
  }
  return entry;
}

}  // namespace

std::int64_t Ledger::permille() const {
  std::int64_t sum = 0;
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
    for (const auto& member : claims.view().members()) {
      ledger.claims[member.key] = read_entry(claims.need_object(member.key));
    }
    return ledger;
  });
}

std::string to_text(const Ledger& ledger) {
  auto claims = json::Value::object();
  for (const auto& [uid, entry] : ledger.claims) {
    auto& value = claims[uid];
    value["permille"] = entry.permille;
    value["reservedAt"] = cluster::micro_time(entry.reserved_at);
    value["seen"] = entry.is_seen;
  }
  auto root = json::Value::object();
  root["claims"] = std::move(claims);
  root["version"] = kVersion;
  return root.text();
}

Ledger reconcile(Ledger ledger, const std::map<std::string, std::int64_t>& live,
                 cluster::WallTime now) {
  std::erase_if(ledger.claims, [&](const auto& item) {
    const auto& [uid, entry] = item;
    // A clock that was set back keeps no reservation for ever.
    const bool may_come = !entry.is_seen && now - entry.reserved_at < Ledger::kComes &&
                          entry.reserved_at - now < Ledger::kComes;
    return !live.contains(uid) && !may_come;
  });
  for (const auto& [uid, permille] : live) {
    const auto [at, is_new] = ledger.claims.try_emplace(uid, Entry{.reserved_at = now});
    at->second.permille = permille;
    at->second.is_seen = true;
  }
  return ledger;
}

}  // namespace tranche::admission::quota
