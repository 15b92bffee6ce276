#pragma once
// What the annotation tranche.dev/gpu-fractions of a Pod (or Pod template) says: what each
// rewritten container had asked for, and what stands there in its place.
//
//     {"main":{"gpu":"0.5","claim":"tranche-gpu-main"},
//      "b":{"gpu":"0.25","resource":"nvidia.com/gpu"}}
//
// It lets people see the original, and lets the next rewrite tell our replicas from the user's. But
// anybody can write it. So it is a hint: who reads it looks whether the Pod's spec has what it says
// (past.h), and what is no record of ours is passed over. Pure.

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tranche::admission {

struct Record {
  std::string gpu;       // what stood at nvidia.com/gpu: "0.5"; "1" beside annotations
  std::string claim;     // the Pod's claim in its place; else
  std::string resource;  // the resource of which it has one
  bool operator==(const Record&) const = default;
};

using Records = std::map<std::string, Record>;  // by container

// A longer annotation is none of ours.
inline constexpr std::size_t kLongestRecords = 64U << 10U;

// Entries that are wrong are left out. nullopt: the text is no record of ours at all.
std::optional<Records> parse_records(std::string_view text);

std::string to_text(const Records& records);

}  // namespace tranche::admission
