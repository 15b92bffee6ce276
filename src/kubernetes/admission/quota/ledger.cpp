#include "admission/quota/ledger.h"

#include <algorithm>
#include <limits>

#include "base/json_fields.h"
#include "base/json_value.h"

namespace tranche::admission::quota {
namespace {

using json::Fields;

constexpr std::string_view kVersion = "gpu-shares/v1";
constexpr std::string_view kBillionths = "billionths";
constexpr std::int64_t kMostPermille = std::int64_t{1} << 40U;
constexpr std::int64_t kPermille = 1'000'000;  // billionths

std::int64_t rounded_up(std::int64_t billionths) {
  const auto permille = billionths / kPermille + (billionths % kPermille == 0 ? 0 : 1);
  return std::min(permille, kMostPermille);
}

bool is_whole_permille(std::int64_t billionths) { return billionths % kPermille == 0; }

// The thousandths at `key`, or the exact amount at `exact_key` of `exact` if present.
std::int64_t read_amount(const Fields& fields, std::string_view key, const Fields& exact,
                         std::string_view exact_key) {
  const auto permille = fields.need_number(key, 0, kMostPermille);
  if (!exact.has(exact_key)) return permille * kPermille;
  const auto billionths = exact.need_number(exact_key, 0, kMostPermille * kPermille);
  if (rounded_up(billionths) != permille) exact.refuse(exact_key, "is another amount");
  return billionths;
}

Entry read_reservation(const Fields& fields) {
  Entry entry{.billionths = read_amount(fields, "permille", fields, kBillionths)};
  const auto time = cluster::parse_time(fields.need<std::string>("at"));
  if (time) {
    entry.reserved_at = *time;
  } else {
    fields.refuse("at", "is no time");
  }
  return entry;
}

}  // namespace

std::int64_t Ledger::billionths() const {
  std::int64_t sum = uncounted;
  for (const auto& [uid, entry] : claims) {
    if (__builtin_add_overflow(sum, entry.billionths, &sum)) {
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
    const auto exact = top.object(kBillionths);
    for (const auto& [uid, value, begin, end] : claims.view().members()) {
      ledger.claims[uid] = {.billionths = read_amount(claims, uid, exact, uid), .is_seen = true};
    }
    if (top.has("uncounted")) {
      ledger.uncounted = top.need_number("uncounted", 0, kMostPermille) * kPermille;
    }
    const auto reserved = top.need_object("reserved");
    for (const auto& [uid, value, begin, end] : reserved.view().members()) {
      ledger.claims[uid] = read_reservation(reserved.need_object(uid));
    }
    return ledger;
  });
}

std::string to_text(const Ledger& ledger) {
  auto claims = json::Value::object();
  auto exact = json::Value::object();
  auto reserved = json::Value::object();
  const bool fits = ledger.claims.size() <= Ledger::kMost;
  std::int64_t uncounted = ledger.uncounted;
  for (const auto& [uid, entry] : ledger.claims) {
    if (entry.is_seen && !fits) {
      uncounted = std::min(uncounted + entry.billionths, kMostPermille * kPermille);
      continue;
    }
    const auto permille = rounded_up(entry.billionths);
    const bool is_whole = is_whole_permille(entry.billionths);
    if (entry.is_seen) {
      claims[uid] = permille;
      if (!is_whole) exact[uid] = entry.billionths;
    } else {
      reserved[uid] = {{"at", cluster::micro_time(entry.reserved_at)}, {"permille", permille}};
      if (!is_whole) reserved[uid][kBillionths] = entry.billionths;
    }
  }
  auto root = json::Value::object();
  if (!exact.empty()) root[kBillionths] = std::move(exact);
  root["claims"] = std::move(claims);
  root["reserved"] = std::move(reserved);
  if (uncounted > 0) root["uncounted"] = rounded_up(uncounted);
  root["version"] = kVersion;
  return root.text();
}

Ledger reconcile(Ledger ledger, const std::map<std::string, std::int64_t>& live,
                 cluster::WallTime now) {
  ledger.uncounted = 0;
  std::erase_if(ledger.claims, [&](const auto& item) {
    const auto& [uid, entry] = item;
    // The second condition: after a clock was set back, a reservation still expires.
    const bool may_come = !entry.is_seen && now - entry.reserved_at < Ledger::kComes &&
                          entry.reserved_at - now < Ledger::kComes;
    return !live.contains(uid) && !may_come;
  });
  for (const auto& [uid, billionths] : live) {
    const auto [at, is_new] = ledger.claims.try_emplace(uid, Entry{.billionths = billionths});
    at->second = {.billionths = std::min(at->second.billionths, billionths), .is_seen = true};
  }
  return ledger;
}

}  // namespace tranche::admission::quota
