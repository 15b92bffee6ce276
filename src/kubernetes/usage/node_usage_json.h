#pragma once
// usage/v1: a NodeUsage as JSON (docs/schemas/usage-v1.schema.json). Amounts are bytes, times
// nanoseconds. What is unknown, empty or false has no field; a reader ignores fields that it does
// not know.

#include <string>
#include <string_view>

#include "base/json_fields.h"
#include "base/json_value.h"
#include "base/result.h"
#include "usage/node_usage.h"

namespace tranche::usage {

// Longest text, and list, that parse_node_usage takes: nodes' answers come over the network.
inline constexpr std::size_t kLongestUsage = std::size_t{16} << 20U;
inline constexpr std::size_t kMostEntries = 20'000;

json::Value json_of(const NodeUsage& usage);
// Compact, on one line.
std::string to_json(const NodeUsage& usage);

// kInvalidArgument, with the path of the field: not usage/v1, or too large.
Result<NodeUsage> parse_node_usage(std::string_view json);
// For a document that holds one; errors are recorded in `fields`.
NodeUsage read_node_usage(const json::Fields& fields);

}  // namespace tranche::usage
