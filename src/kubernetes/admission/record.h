#pragma once
// The annotation tranche.dev/gpu-fractions of a Pod (or Pod template): what each rewritten
// container had requested, and what replaced it.
//
//     {"main":{"gpu":"0.5","claim":"tranche-gpu-main"},
//      "b":{"gpu":"0.25","resource":"nvidia.com/gpu"}}
//
// It shows people the original, and lets the next rewrite tell our replicas from the user's.
// Anybody can write it, so it is a hint: readers check it against the Pod's spec (past.h) and
// ignore entries that are not ours. Pure.

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tranche::admission {

struct Record {
  std::string gpu;       // the original nvidia.com/gpu: "0.5"; "1" with annotations
  std::string claim;     // the Pod's claim that replaced it; or
  std::string resource;  // the resource that replaced it
  bool operator==(const Record&) const = default;
};

using Records = std::map<std::string, Record>;  // by container

// A longer annotation is not ours.
inline constexpr std::size_t kLongestRecords = 64U << 10U;

// Invalid entries are left out. nullopt: the text is not a record of ours.
std::optional<Records> parse_records(std::string_view text);

std::string to_text(const Records& records);

}  // namespace tranche::admission
