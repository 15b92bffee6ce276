#pragma once
// What a namespace's ResourceQuota says of whole GPUs: the limit that its shares are held to as
// well. In billionths of a GPU. Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace tranche::admission::quota {

inline constexpr std::string_view kQuotaResource = "requests.nvidia.com/gpu";
// A label of the ResourceQuota that we keep beside the operator's (decision 41): it says what is
// left for whole GPUs, and limits no share.
inline constexpr std::string_view kOwnQuotaLabel = "tranche.dev/gpu-shares";

struct Limit {
  std::string quota;      // the ResourceQuota's name
  std::int64_t hard = 0;  // spec.hard, rounded down
  std::int64_t used = 0;  // status.used, rounded up: by whole GPUs, of the device plugin and claims
  bool operator==(const Limit&) const = default;
};

// nullopt: it does not limit GPUs; or it is for some Pods alone (scopes), and a claim does not tell
// for which Pods it is; or it is our own.
Result<std::optional<Limit>> read_limit(json::View resource_quota);

// Thousandths of a GPU, of a quantity, as billionths. More than any cluster has are as many as
// sums of them allow.
std::int64_t from_milli(std::int64_t thousandths);

// "2.5" of 2500 million billionths; to the nearest millionth.
std::string gpus_text(std::int64_t billionths);

}  // namespace tranche::admission::quota
