#pragma once
// Whether a namespace may have another share: its quota of whole GPUs is for whole GPUs and shares
// together. Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "admission/quota/ledger.h"
#include "admission/quota/limit.h"
#include "base/result.h"

namespace tranche::admission::quota {

struct Reservation {
  std::string ns;
  std::string claim;  // its name, for messages
  std::string uid;
  std::int64_t billionths = 0;  // charge_of()
};

// The ledger with the claim in it. Idempotent: an API server may ask twice. kFailedPrecondition: a
// limit is reached, with the reason, or the ledger is full. kInvalidArgument: no valid uid.
Result<Ledger> reserve(Ledger ledger, const std::vector<Limit>& limits, const Reservation& asked,
                       cluster::WallTime now);

// How many billionths the shares leave for whole GPUs, by the tightest limit; 0 if they exceed it.
// nullopt: there is no limit.
std::optional<std::int64_t> left_for_whole(const Ledger& ledger, const std::vector<Limit>& limits);

}  // namespace tranche::admission::quota
