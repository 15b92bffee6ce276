#pragma once
// Which claims of a namespace hold shares of GPUs, and how much: what ResourceQuota does not see.
// One ledger for each namespace, stored in the status of an object; who changes it writes with the
// resourceVersion that he read, so that of two who reserve at the same time one reads again
// (decision 41). Pure: this is the value, its text, and how it follows what is there.
//
//     {"claims": {"<uid>": 500, "<uid2>": 334}, "billionths": {"<uid2>": 333333333},
//      "reserved": {"<uid>": {"at": "<RFC 3339>", "permille": 250}}, "version": "gpu-shares/v1"}
//
// What is no whole thousandth stands in "billionths" too (a reservation has it beside "permille"):
// releases that know no billionths read the thousandths, rounded up, and write them alone. Charges
// are then as before, until this one has looked at the claims again.
//
// Of more claims than an annotation has room for, which were there before the quota, it has the sum
// alone: {"claims": {}, ..., "uncounted": 70000}. Nothing is reserved in such a one.

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
  cluster::WallTime reserved_at = {};  // not stored of a claim that was there
  // The claim was there. One that never came (another admission refused it) is forgotten.
  bool is_seen = false;
  bool operator==(const Entry&) const = default;
};

struct Ledger {
  // The text of so many fits into the annotations of an object, 256 KiB, however they stand.
  static constexpr std::size_t kMost = 2000;
  // A claim is there within moments of its admission, or never.
  static constexpr std::chrono::minutes kComes{1};

  std::map<std::string, Entry> claims;  // by uid
  // Of claims that are not among these: read from a text that had no room for them. Whoever lists
  // the claims knows better.
  std::int64_t uncounted = 0;
  bool operator==(const Ledger&) const = default;

  bool is_full() const { return claims.size() >= kMost || uncounted > 0; }

  std::int64_t billionths() const;  // of all
};

// kInvalidArgument: the text is no ledger, or of another version. It is then not empty: the caller
// makes it anew from the claims that are there, and reserves nothing before.
Result<Ledger> parse_ledger(std::string_view text);
// Claims that were there become `uncounted` where the ledger has more than kMost.
std::string to_text(const Ledger& ledger);

// The ledger after a look at the claims: `live` is the charge of each that is there, by uid. Claims
// that are gone hold nothing; those that are there hold what they are charged, whether or not they
// were reserved: what is there is not refused afterwards.
Ledger reconcile(Ledger ledger, const std::map<std::string, std::int64_t>& live,
                 cluster::WallTime now);

}  // namespace tranche::admission::quota
