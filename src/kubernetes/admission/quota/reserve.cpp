#include "admission/quota/reserve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <limits>

#include "base/printable.h"

namespace tranche::admission::quota {
namespace {

constexpr std::size_t kLongestUid = 36;

std::int64_t saturated(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::int64_t>::max() : sum;
}

// The API server sends a UUID. Checked because it is stored.
bool is_uid(const std::string& text) {
  return !text.empty() && text.size() <= kLongestUid && std::ranges::all_of(text, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-';
  });
}

std::unexpected<Error> beyond(const Limit& limit, const Reservation& asked, std::int64_t shares) {
  return fail(
      Code::kFailedPrecondition,
      fmt::format("claim \"{}\" asks for {} of a GPU, and namespace {} may have {} GPUs "
                  "(ResourceQuota {}, {}): whole GPUs take {}, shares {}",
                  printable(asked.claim, 253), gpus_text(asked.billionths), printable(asked.ns, 63),
                  gpus_text(limit.hard), printable(limit.quota, 253), kQuotaResource,
                  gpus_text(limit.used), gpus_text(shares)),
      fmt::format("end Pods that hold some (kubectl get resourceclaims -n {}), or have the quota "
                  "raised",
                  printable(asked.ns, 63)));
}

}  // namespace

Result<Ledger> reserve(Ledger ledger, const std::vector<Limit>& limits, const Reservation& asked,
                       cluster::WallTime now) {
  if (!is_uid(asked.uid)) {
    return fail(Code::kInvalidArgument,
                fmt::format("claim \"{}\" has no uid", printable(asked.claim, 253)));
  }
  if (limits.empty() || asked.billionths == 0) return ledger;
  const auto found = ledger.claims.find(asked.uid);
  // An existing claim was admitted. A second caller with its uid is not the API server.
  const bool is_known = found != ledger.claims.end() &&
                        (found->second.is_seen || found->second.billionths >= asked.billionths);
  if (is_known) return ledger;
  if (found != ledger.claims.end()) ledger.claims.erase(found);
  const auto shares = ledger.billionths();
  for (const auto& limit : limits) {
    const auto after = saturated(saturated(limit.used, shares), asked.billionths);
    if (after > limit.hard) return beyond(limit, asked, shares);
  }
  if (ledger.is_full()) {
    return fail(Code::kFailedPrecondition,
                fmt::format("namespace {} has {} claims of shares or more, and no more can be "
                            "counted",
                            printable(asked.ns, 63), Ledger::kMost),
                "end some, or use another namespace");
  }
  ledger.claims[asked.uid] = {.billionths = asked.billionths, .reserved_at = now};
  return ledger;
}

std::optional<std::int64_t> left_for_whole(const Ledger& ledger, const std::vector<Limit>& limits) {
  const auto tightest = std::ranges::min_element(limits, {}, &Limit::hard);
  if (tightest == limits.end()) return std::nullopt;
  return std::max<std::int64_t>(tightest->hard - ledger.billionths(), 0);
}

}  // namespace tranche::admission::quota
