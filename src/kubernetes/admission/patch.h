#pragma once
// The JSON patch (RFC 6902) from one JSON value to another. Computed from both values, so no caller
// can forget an operation.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/json_value.h"

namespace tranche::admission {

// "/" and the key, escaped: "/nvidia.com~1gpu".
std::string pointer_step(std::string_view key);

// Members by key, in the order of the text; of equal keys the last counts. Empty for a non-object.
std::vector<json::Member> distinct_members(json::View object);

// Equal regardless of the order of members; numbers are compared as written.
bool same_value(json::View a, json::View b);

// Appends to `operations` what changes `now` at `pointer` into `wanted`. nullopt: absent. In a
// list, removals, changes or additions are one operation for each element; a list with several of
// these kinds of difference is replaced.
void add_difference(const std::string& pointer, std::optional<json::View> now,
                    std::optional<json::View> wanted, json::Value& operations);

}  // namespace tranche::admission
