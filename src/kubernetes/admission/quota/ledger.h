#pragma once
// Which claims of a namespace hold shares of GPUs, and how much: ResourceQuota does not count
// these. There is one ledger for each namespace, stored in the status of an object. Writers name
// the resourceVersion that they read, so after a conflict the second one reads again (decision 41).
// Pure: the value, its text, and its reconciliation.
//
//     {"claims": {"<uid>": 500, "<uid2>": 334}, "billionths": {"<uid2>": 333333333},
//      "reserved": {"<uid>": {"at": "<RFC 3339>", "permille": 250}}, "version": "gpu-shares/v1"}
//
// Amounts that are not whole thousandths are also in "billionths" (of a reservation: next to
// "permille"). Releases that do not know billionths read the thousandths, rounded up, and write
// only them. Charges are then rounded until this release has listed the claims again.
//
// If more claims from before the quota exist than an annotation holds, it has only their sum:
// {"claims": {}, ..., "uncounted": 70000}. Nothing can be reserved in such a ledger.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cluster/time.h"

namespace tranche::admission::quota {

struct Entry {
  std::int64_t billionths = 0;         // of a GPU
  cluster::WallTime reserved_at = {};  // not stored if is_seen
  // The claim was listed. A reservation whose claim never comes (another admission refused it)
  // expires.
  bool is_seen = false;
  bool operator==(const Entry&) const = default;
};

struct Ledger {
  // So many always fit into an object's annotations (256 KiB).
  static constexpr std::size_t kMost = 2000;
  // A claim exists within moments of its admission, or never.
  static constexpr std::chrono::minutes kComes{1};

  std::map<std::string, Entry> claims;  // by uid
  // Billionths of claims not in `claims`: read from a text that had no room for them. reconcile()
  // replaces it.
  std::int64_t uncounted = 0;
  bool operator==(const Ledger&) const = default;

  bool is_full() const { return claims.size() >= kMost || uncounted > 0; }

  std::int64_t billionths() const;  // the sum
};

// kInvalidArgument: the text is no ledger, or of another version. Do not take it for an empty one:
// rebuild the ledger from the existing claims before reserving anything.
Result<Ledger> parse_ledger(std::string_view text);
// If there are more than kMost claims, the seen ones become `uncounted`.
std::string to_text(const Ledger& ledger);

// The ledger after listing the claims: `live` has the charge of each existing claim, by uid.
// Deleted claims hold nothing; existing ones hold their charge, reserved or not: they cannot be
// refused afterwards.
Ledger reconcile(Ledger ledger, const std::map<std::string, std::int64_t>& live,
                 cluster::WallTime now);

}  // namespace tranche::admission::quota
