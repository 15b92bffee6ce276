#pragma once
// incident/v1: one incident as a file (docs/schemas/incident-v1.schema.json). One JSON object:
//
//   {"checksum":"<FNV-1a, 64 bits, hex>","incident":{...},"version":"incident/v1"}
//
// The arbiter writes it, and the agent a copy with the names of Pods; people send it around.

#include <cstddef>
#include <string>
#include <string_view>

#include "base/json_value.h"
#include "base/result.h"
#include "incidents/incident.h"

namespace tranche::incidents {

// Longer files are none of ours.
inline constexpr std::size_t kLongestFile = std::size_t{512} << 10U;

// The content of the envelope.
json::Value json_of(const Incident& incident);
std::string encode(const Incident& incident);
// kInvalidArgument: not incident/v1, torn, edited, or a value out of range; says which.
Result<Incident> decode(std::string_view text);

}  // namespace tranche::incidents
