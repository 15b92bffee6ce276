#pragma once
// What a namespace's ResourceQuota says of whole GPUs, which also limits its shares. In billionths
// of a GPU. Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/json_fields.h"
#include "base/quantity.h"
#include "base/result.h"

namespace tranche::admission::quota {

inline constexpr std::string_view kQuotaResource = "requests.nvidia.com/gpu";
// Label of the ResourceQuota that we keep in addition to the administrator's (decision 41): it says
// what is left for whole GPUs, and does not limit shares.
inline constexpr std::string_view kOwnQuotaLabel = "tranche.dev/gpu-shares";

struct Limit {
  std::string quota;      // the ResourceQuota's name
  std::int64_t hard = 0;  // spec.hard, rounded down
  std::int64_t used = 0;  // status.used, rounded up: whole GPUs, of device plugin and claims
  bool operator==(const Limit&) const = default;
};

// nullopt: it does not limit GPUs; or it is for some Pods only (scopes), and a claim does not tell
// its Pods; or it is our own.
Result<std::optional<Limit>> read_limit(json::View resource_quota);

// What a quota's amounts say of whole GPUs, too large a number as one that limits nothing. nullopt:
// nothing, or what is no number is told to `amounts`.
std::optional<std::int64_t> amount_of(const json::Fields& amounts, Rounding rounding);

// Thousandths of a GPU as billionths, clamped so that sums of them cannot overflow.
std::int64_t from_milli(std::int64_t thousandths);

// "2.5" for 2500 million billionths; rounded to a millionth.
std::string gpus_text(std::int64_t billionths);

}  // namespace tranche::admission::quota
